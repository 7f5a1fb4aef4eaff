"""What a project or wheel says it is built for, against what its lists, libraries and gates come to."""
