"""Reads build files: CMake, evaluated for every target, and scripts and settings that name architectures."""
