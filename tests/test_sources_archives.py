"""Wheels and sdists are read in place; hostile ones are refused member by member."""

from __future__ import annotations

import io
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from archscan.errors import UserError
from archscan.model.facts import Failed, Origin, Source
from archscan.model.settings import ScanSettings
from archscan.sources import archives, discover, read

SETTINGS = ScanSettings()
FILES = {
    "pkg/a.cu": b"#if 1\n#endif\n",
    "pkg/third_party/b.cuh": b"int b;\n",
    "pkg/c.py": b"import pkg\n",
    "pkg/logo.png": b"\x89PNG",
    "pkg-1.0.dist-info/METADATA": b"Name: pkg\n",
}


def wheel(base: Path, files: dict[str, bytes] = FILES, name: str = "pkg-1.0-py3-none-any.whl") -> Path:
    with zipfile.ZipFile(base / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return base / name


def sdist(base: Path, files: dict[str, bytes] = FILES, top: str = "pkg-1.0/") -> Path:
    path = base / "pkg-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in {**files, "pyproject.toml": b"[project]\n"}.items():
            info = tarfile.TarInfo(top + name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def test_a_wheel_is_read_in_place(tmp_path: Path) -> None:
    discovery = discover([str(wheel(tmp_path))], SETTINGS)
    sources = [s for s in read(discovery.sources) if isinstance(s, Source)]
    assert {s.path: s.data for s in sources} == {n: FILES[n] for n in ("pkg/a.cu", "pkg/c.py", "pkg/third_party/b.cuh")}
    assert [s.origin for s in sources] == [Origin.OWN, Origin.OWN, Origin.VENDORED]
    assert all(s.disk == "" for s in sources)
    assert discovery.other == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "pkg-1.0-py3-none-any.whl"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("*.cu", ["pkg/c.py", "pkg/third_party/b.cuh"]),
        ("third_party/", ["pkg/a.cu", "pkg/c.py"]),
        ("/pkg/c.py", ["pkg/a.cu", "pkg/third_party/b.cuh"]),
        ("/c.py", ["pkg/a.cu", "pkg/c.py", "pkg/third_party/b.cuh"]),
    ],
)
def test_members_are_excluded_like_files(tmp_path: Path, pattern: str, left: list[str]) -> None:
    discovery = discover([str(wheel(tmp_path))], replace(SETTINGS, exclude=(pattern,)))
    assert [source.path for source in discovery.sources] == left
    skipped = [one for one in discovery.skipped if one.reason == "ignored by --exclude"]
    assert len(skipped) == 3 - len(left)


def test_an_sdist_is_read_in_place(tmp_path: Path) -> None:
    sources = [s for s in read(discover([str(sdist(tmp_path))], SETTINGS).sources) if isinstance(s, Source)]
    assert [s.path for s in sources] == [
        "pkg-1.0/pkg/a.cu",
        "pkg-1.0/pkg/c.py",
        "pkg-1.0/pkg/third_party/b.cuh",
        "pkg-1.0/pyproject.toml",
    ]
    assert [s.below for s in sources][:2] == ["pkg/a.cu", "pkg/c.py"]
    assert sources[0].data == FILES["pkg/a.cu"]


def test_a_wheel_and_its_installation_hash_the_same_paths(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    with zipfile.ZipFile(wheel(tmp_path)) as archive:
        archive.extractall(site)
    packed = [s.below for s in discover([str(wheel(tmp_path))], SETTINGS).sources]
    assert packed == [s.below for s in discover([str(site)], SETTINGS).sources]


def test_a_bomb_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"a.cu": b"int a;\n", "bomb.cu": b"\n" * (20 << 20)})
    discovery = discover([str(path)], SETTINGS)
    assert [s.path for s in discovery.sources] == ["a.cu"]
    (failed,) = discovery.failed
    assert failed.path == "bomb.cu"
    assert "times its size" in failed.reason


def test_a_member_that_lies_about_its_size_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archscan.sources.reading.MAX_SIZE", 1000)
    path = wheel(tmp_path, {"a.cu": b"x" * 5000})
    (outcome,) = read(discover([str(path)], SETTINGS).sources)
    assert not isinstance(outcome, Source)
    assert outcome.reason.startswith("larger than")


def test_an_archive_with_too_much_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_TOTAL", 10)
    discovery = discover([str(wheel(tmp_path, {"a.cu": b"x" * 8, "b.cu": b"x" * 8}))], SETTINGS)
    assert [s.path for s in discovery.sources] == ["a.cu"]
    assert "holds more than" in discovery.failed[0].reason
    monkeypatch.setattr(archives, "MAX_MEMBERS", 1)
    with pytest.raises(UserError, match="more than 1 members"):
        discover([str(wheel(tmp_path))], SETTINGS)


@pytest.mark.parametrize("name", ["../up.cu", "/abs.cu", "a/../../b.cu"])
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    discovery = discover([str(wheel(tmp_path, {name: b"x", "ok.cu": b"x"}))], SETTINGS)
    assert [s.path for s in discovery.sources] == ["ok.cu"]
    assert discovery.failed[0].reason == "its name leads out of the archive"


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 not really", b"\x1f\x8b\x08\0rubbish"])
@pytest.mark.parametrize("name", ["x.whl", "x.tar.gz"])
def test_a_broken_archive_is_a_clear_error(tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=r"cannot read the archive|nothing to scan"):
        discover([str(tmp_path / name)], SETTINGS)


def test_a_damaged_member_fails_alone(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"a.cu": b"int a;\n" * 50, "b.cu": b"int b;\n" * 50})
    data = bytearray(path.read_bytes())
    data[40:44] = b"\xff\xff\xff\xff"
    path.write_bytes(bytes(data))
    first, second = read(discover([str(path)], SETTINGS).sources)
    assert isinstance(first, Failed)
    assert isinstance(second, Source)


def test_an_archive_that_vanishes_fails_per_member(tmp_path: Path) -> None:
    path = wheel(tmp_path)
    sources = discover([str(path)], SETTINGS).sources
    path.unlink()
    assert all(isinstance(outcome, Failed) for outcome in read(sources))
