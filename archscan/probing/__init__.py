"""Probes: small kernels that are run on the user's GPU to settle what reading cannot, each in a process of its own."""
