"""The language server: diagnostics, hover, code actions and the places of a chain, for one target, over stdio."""
