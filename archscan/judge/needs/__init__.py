"""What the code behind a gate needs of a chip: instructions, resources, images; and what the target lacks."""
