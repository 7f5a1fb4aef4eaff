"""Reads GPU images out of compiled libraries: containers, cubins, PTX. Pure, no target; files are opened in sources."""
