"""A Python file as text and syntax: where it may ask for the architecture, its definitions, scopes and modules."""
