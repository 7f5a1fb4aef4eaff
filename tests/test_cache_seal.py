"""What lies in the cache is read only if this user sealed it, and even then makes values and calls nothing."""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import pickle
import zlib
from pathlib import Path

import pytest

from archscan import cache, sealed
from archscan.catalog import load
from archscan.catalog.stored import _name, stored
from archscan.model.gate import Place
from archscan.sealed import Keeper, plain

ENTRY = "a.facts"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(module: str, name: str, argument: str) -> bytes:
    """A pickle that asks for a name, dotted or not, and calls it with one list of one text."""
    text = argument.encode()
    return (
        pickle.PROTO + b"\x04"
        + pickle.SHORT_BINUNICODE + bytes([len(module)]) + module.encode()
        + pickle.SHORT_BINUNICODE + bytes([len(name)]) + name.encode()
        + pickle.STACK_GLOBAL
        + pickle.EMPTY_LIST + pickle.SHORT_BINUNICODE + bytes([len(text)]) + text + pickle.APPEND
        + pickle.TUPLE1 + pickle.REDUCE + pickle.STOP
    )  # fmt: skip


# Each once made it through: a class reached over a module that ours imports, and one that ours only names.
CALLS = [
    ("archscan.catalog.native", "subprocess.Popen"),
    ("archscan.fixing.verify", "subprocess.Popen"),
    ("archscan.cache", "Path"),
    ("archscan.workers", "Forks"),
    ("archscan.fixing.journal", "Journal"),
    ("os", "system"),
    ("builtins", "eval"),
]


@pytest.mark.parametrize(("module", "name"), CALLS, ids=[f"{m}.{n}" for m, n in CALLS])
def test_a_pickle_reaches_nothing_but_our_own_values(module: str, name: str, home: Path) -> None:
    with pytest.raises(pickle.UnpicklingError, match="is no type of archscan's"):
        plain(call(module, name, "touch pwned"))
    assert not (home / "pwned").exists()


def test_our_own_values_come_back() -> None:
    place = Place(1, 2, 3, 4, 5, 6)
    assert plain(pickle.dumps((place, frozenset({1})))) == (place, frozenset({1}))


def forged(name: str, body: bytes, key: bytes = bytes(32)) -> bytes:
    magic = b"archscan cache 2\n"
    return magic + hmac.digest(key, magic + name.encode() + b"\0" + body, "sha256") + body


@pytest.mark.parametrize("how", ["first format", "no key", "empty key", "a key of zeros", "seal of another entry"])
def test_a_foreign_entry_is_ignored_before_a_byte_is_unpickled(
    how: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(cache.default_directory())
    assert keeper.store("other.facts", [1])
    body = pickle.dumps([2])
    path = cache.default_directory() / ENTRY
    if how == "first format":
        path.write_bytes(b"archscan cache 1\n" + zlib.crc32(body).to_bytes(4, "big") + body)
    elif how == "no key":
        path.write_bytes(b"archscan cache 2\n" + hashlib.sha256(body).digest() + body)
    elif how == "empty key":
        path.write_bytes(forged(ENTRY, body, b""))
    elif how == "a key of zeros":
        path.write_bytes(forged(ENTRY, body))
    else:
        path.write_bytes((cache.default_directory() / "other.facts").read_bytes())
    path.chmod(0o600)
    monkeypatch.setattr(sealed, "_Loader", lambda *a: pytest.fail("unpickled"))
    assert Keeper(cache.default_directory()).load(ENTRY, list) is None


def test_an_entry_of_ours_is_read(home: Path) -> None:
    assert Keeper(cache.default_directory()).store(ENTRY, [2])
    assert Keeper(cache.default_directory()).load(ENTRY, list) == [2]
    assert Keeper(cache.default_directory()).load(ENTRY, dict) is None
    (home / "state/archscan" / sealed.KEY).unlink()
    assert Keeper(cache.default_directory()).load(ENTRY, list) is None  # sealed with a key that is gone


def test_the_compiled_rules_are_sealed_too(home: Path) -> None:
    catalog = load(kept_in=cache.default_directory())
    path = cache.default_directory() / _name(catalog.digest)
    assert stored(cache.default_directory(), catalog.digest) == catalog
    evil = call("archscan.catalog.native", "subprocess.Popen", "touch pwned")
    for planted in (evil, pickle.dumps(catalog), forged(path.name, pickle.dumps(catalog))):
        path.write_bytes(planted)
        assert stored(cache.default_directory(), catalog.digest) is None
    assert not (home / "pwned").exists()


def test_the_key_is_made_once_for_this_user_alone(home: Path) -> None:
    key = sealed.user_key()
    path = home / "state/archscan" / sealed.KEY
    assert len(key) == 32 and key == sealed.user_key() == path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name != "posix", reason="modes and owners are those of POSIX")
@pytest.mark.parametrize("what", ["readable", "link", "short", "fifo", "folder writable", "folder a link"])
def test_a_key_that_could_be_known_to_others_is_not_used(what: str, home: Path) -> None:
    sealed.user_key()
    folder = home / "state/archscan"
    path = folder / sealed.KEY
    if what == "readable":
        path.chmod(0o640)
    elif what == "short":
        path.write_bytes(b"short")
    elif what == "folder writable":
        folder.chmod(0o770)
    elif what == "folder a link":
        folder.rename(home / "elsewhere")
        folder.symlink_to(home / "elsewhere")
    else:
        path.rename(home / "key")
        path.symlink_to(home / "key") if what == "link" else os.mkfifo(path, 0o600)
    with pytest.raises(OSError):
        sealed.user_key()
    assert not Keeper(cache.default_directory()).store(ENTRY, [1])
    assert cache.kept().unused


@pytest.mark.skipif(os.name != "posix", reason="modes and owners are those of POSIX")
@pytest.mark.parametrize("what", ["group", "others", "link", "another user"])
def test_a_directory_that_others_may_write_is_no_cache(what: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = cache.default_directory()
    keeper = Keeper(directory)
    assert keeper.store(ENTRY, [1])
    if what == "link":
        directory.rename(home / "elsewhere")
        directory.symlink_to(home / "elsewhere")
    elif what == "another user":
        monkeypatch.setattr(os, "geteuid", lambda: 4242)
    else:
        directory.chmod(0o770 if what == "group" else 0o702)
    assert keeper.load(ENTRY, list) is None
    assert not keeper.store("b.facts", [2])
    assert cache.clear().files == 0  # nor is anything removed there
    assert (directory / ENTRY).exists()


def test_what_is_not_the_caches_is_never_removed(home: Path) -> None:
    Keeper(cache.default_directory()).store(ENTRY, [1])
    mine = cache.default_directory() / "notes.txt"
    mine.write_text("mine")
    assert cache.clear().files == 1
    assert mine.exists()


@pytest.mark.skipif(os.name != "posix", reason="no FIFOs there")
def test_a_fifo_in_the_cache_does_not_block(home: Path) -> None:
    Keeper(cache.default_directory()).store(ENTRY, [1])
    (cache.default_directory() / ENTRY).unlink()
    os.mkfifo(cache.default_directory() / ENTRY, 0o600)
    assert Keeper(cache.default_directory()).load(ENTRY, list) is None


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scanned tree that is the current directory would hold the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert cache.default_directory().is_absolute()
    assert Path.cwd() not in cache.default_directory().parents


def test_temporary_files_are_random_and_gone(home: Path) -> None:
    for number in range(3):
        Keeper(cache.default_directory()).store(ENTRY, [number])
    assert [path.name for path in cache.default_directory().iterdir()] == [ENTRY]
    assert io.BytesIO((cache.default_directory() / ENTRY).read_bytes()).read(17) == b"archscan cache 2\n"
