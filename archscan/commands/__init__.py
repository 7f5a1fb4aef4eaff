"""What each command of archscan does, from its options to its exit code."""
