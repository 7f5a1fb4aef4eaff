"""Lets `python -m archscan` do what the `archscan` command does."""

from archscan.cli import main

if __name__ == "__main__":
    main()
