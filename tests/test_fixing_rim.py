"""Around a fix: patches that tools take, caches that went stale, the distribution a file belongs to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from archscan import cli
from archscan.catalog.reading import rules_directory
from archscan.errors import UserError
from archscan.fixing.caches import FoundCache, clear, found_caches, known_caches, location
from archscan.fixing.distribution import distribution_of
from archscan.fixing.patch import patch, unified

GATE = b"#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\nint x;\n#endif\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"),
        (b"a\r\nb\r\n", b"a\r\nB\r\n"),
        (b"a\nb", b"a\nB"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nB\n"),
        (b"\xff\xfe\n\x0b\n", b"\xff\xfe\n\x0c\n"),
    ],
)
def test_git_applies_a_patch_byte_for_byte(tmp_path: Path, before: bytes, after: bytes) -> None:
    (tmp_path / "f.cu").write_bytes(before)
    text = patch({"f.cu": (before, after)})
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=text, cwd=tmp_path, check=True)
    assert (tmp_path / "f.cu").read_bytes() == after


def test_no_difference_is_no_patch() -> None:
    assert unified("f", b"a\n", b"a\n") == b""


def test_caches_follow_their_variable(tmp_path: Path) -> None:
    (cache,) = [c for c in known_caches(rules_directory()) if c.id == "flashinfer"]
    assert location(cache, {"FLASHINFER_WORKSPACE_BASE": str(tmp_path)}) == tmp_path / ".cache/flashinfer"
    assert location(cache, {}) == Path.home() / ".cache/flashinfer"


def test_only_caches_of_the_touched_layer_are_named_and_cleared(tmp_path: Path) -> None:
    below = tmp_path / ".cache/flashinfer/0.6.2"
    below.mkdir(parents=True)
    (below / "a.so").write_bytes(b"12345")
    environ = {"FLASHINFER_WORKSPACE_BASE": str(tmp_path), "TRITON_CACHE_DIR": str(tmp_path)}
    caches = [c for c in known_caches(rules_directory()) if c.id in ("flashinfer", "triton")]
    (found,) = found_caches(caches, frozenset({"preprocessor"}), environ)
    assert (found.cache.id, found.bytes, found.files) == ("flashinfer", 5, 1)
    clear(found)
    assert found.path.is_dir() and not list(found.path.iterdir())


def test_a_home_directory_is_never_cleared(tmp_path: Path) -> None:
    (cache, *_) = known_caches(rules_directory())
    for path in (Path.home(), Path("/"), Path.home().parent):
        with pytest.raises(UserError, match="does not look like a cache"):
            clear(FoundCache(cache, path, 1, 1))
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UserError, match="does not look like a cache"):
        clear(FoundCache(cache, tmp_path / "link", 1, 1))


def test_the_distribution_and_what_an_upgrade_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    site = tmp_path / "site-packages"
    (site / "some_kernels-1.2.3.dist-info").mkdir(parents=True)
    (site / "some_kernels-1.2.3.dist-info/RECORD").write_text("some_kernels/a.cu,sha256=x,1\n")
    (site / "some_kernels").mkdir()
    (site / "some_kernels/a.cu").write_bytes(GATE)
    assert distribution_of(site / "some_kernels/a.cu") == "some_kernels 1.2.3"
    assert distribution_of(site / "some_kernels/b.cu") is None
    cli.run(["fix", "--target", "sm120", "--unsafe", str(site / "some_kernels")])
    assert "1 of these files belong to some_kernels 1.2.3: upgrading it undoes the edit" in capsys.readouterr().err
