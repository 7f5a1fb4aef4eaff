"""The exact preprocessor side: directives, macros and conditions, for every target at once; and their gates."""
