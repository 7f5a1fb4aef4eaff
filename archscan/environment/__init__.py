"""What is installed for a Python, read from its files alone, and what a GPU gets of it."""
