"""What code means, whatever language it is written in: no syntax tree, no file and no target is known here."""
