"""Finds the files to read and reads them one by one: the only part of a scan that touches a disk."""

from archscan.sources.discovery import Discovery, discover
from archscan.sources.origins import VendoredTree, vendored_trees
from archscan.sources.reading import read
from archscan.sources.unread import Stamp, Unread

__all__ = ["Discovery", "Stamp", "Unread", "VendoredTree", "discover", "read", "vendored_trees"]
