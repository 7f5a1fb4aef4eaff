"""The abstract interpreter: what expressions, names and calls are for every target, importing nothing."""
