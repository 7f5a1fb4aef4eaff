"""`archscan images`: the list in text and JSON, what a GPU gets of each module, exit codes."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from binary_samples import ANSWERS, SAMPLES

from archscan import cli
from archscan.binary.loading import of_library
from archscan.binary.names import last, plain
from archscan.catalog import load
from archscan.model.facts import Failed
from archscan.model.library import Library
from archscan.sources import Unread
from archscan.sources.libraries import read_library

WHEEL = next(SAMPLES.glob("*.whl"))
Out = pytest.CaptureFixture[bytes]


def images(capsysbinary: Out, *arguments: object, code: int = 0) -> str:
    """What the command prints."""
    assert cli.run(["images", *map(str, arguments)]) == code
    return capsysbinary.readouterr().out.decode()


def document(capsysbinary: Out, *arguments: object, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(images(capsysbinary, "--format", "json", *arguments, code=code))
    return found


def library(name: str) -> Library:
    found = read_library(Unread(name, str(SAMPLES / name), 0))
    assert isinstance(found, Library)
    return found


@pytest.mark.parametrize("sm", [75, 80, 86, 89, 90, 100, 103, 110, 120, 121])
def test_which_image_each_gpu_loads(sm: int) -> None:
    catalog = load()
    expected = [ANSWERS["verdict two_modules"][f"module of {name}.cu"][str(sm)] for name in "ab"]
    found = [
        f"{got.how.value} {got.image.name}" if got.image else got.how.value
        for got in of_library(library("two_modules.so"), sm, catalog)
    ]
    assert found == [answer.replace("family", "compatible") for answer in expected]


def test_json_of_a_library(capsysbinary: Out) -> None:
    found = document(capsysbinary, SAMPLES / "two_modules.so", "--target", "sm90", "--kernels")
    assert list(found) == ["schema_version", "files", "failed"] and found["failed"] == []
    (file,) = found["files"]
    assert (file["path"], file["machine"]) == ("two_modules.so", "x86_64")
    assert [(m["relocatable"], m["gets"], len(m["images"])) for m in file["modules"]] == [
        (False, "native", 6),
        (False, "none", 1),
    ]
    listed = [image for module in file["modules"] for image in module["images"]]
    keys = ("kind", "arch", "compressed", "version")
    assert [{key: image[key] for key in keys} for image in listed] == ANSWERS["two_modules.so"]["images"]
    cubins = [image["kernels"] for image in listed if image["kind"] == "cubin"]
    assert cubins == list(ANSWERS["two_modules.so"]["kernels_by_nvdisasm"].values())
    assert all(image["size"] > 0 for image in listed)


def test_json_without_target_and_kernels_has_neither(capsysbinary: Out) -> None:
    (file,) = document(capsysbinary, SAMPLES / "plain.fatbin")["files"]
    assert file["machine"] is None
    assert all("gets" not in m and "kernels" not in i for m in file["modules"] for i in m["images"])


def test_a_wheel_is_read_in_place(capsysbinary: Out) -> None:
    found = document(capsysbinary, WHEEL)
    listed = {
        file["path"]: [image["arch"] for module in file["modules"] for image in module["images"]]
        for file in found["files"]
    }
    expected = {"pkg/_C.abi3.so": "two_modules.so", "pkg/data/k.fatbin": "lz4.fatbin"}
    assert listed == {path: [i["arch"] for i in ANSWERS[name]["images"]] for path, name in expected.items()}


def test_a_directory_and_several_paths(capsysbinary: Out, tmp_path: Path) -> None:
    for name in ("relocatable.o", "plain.fatbin"):
        shutil.copy(SAMPLES / name, tmp_path)
    (tmp_path / "text.so").write_text("not a library")
    shutil.copy(SAMPLES / "two_modules.so", tmp_path / "libx.so.1.2")
    found = document(capsysbinary, tmp_path)
    assert [file["path"] for file in found["files"]] == ["libx.so.1.2", "plain.fatbin", "relocatable.o"]
    found = document(capsysbinary, tmp_path / "relocatable.o", tmp_path / "plain.fatbin")
    assert [file["path"] for file in found["files"]] == ["plain.fatbin", "relocatable.o"]


def test_a_file_that_only_its_content_tells(capsysbinary: Out, tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "two_modules.so", tmp_path / "program")
    assert len(document(capsysbinary, tmp_path / "program")["files"][0]["modules"]) == 2


@pytest.mark.parametrize(
    ("name", "code", "rows"),
    [
        ("hostile_truncated.fatbin", 2, 1),  # nothing of it can be read
        ("hostile_huge_raw_size.fatbin", 0, 1),  # one image of it
        ("hostile_zstd_bomb.fatbin", 0, 0),  # by its headers it is fine
    ],
)
def test_damaged_files(capsysbinary: Out, name: str, code: int, rows: int) -> None:
    found = document(capsysbinary, SAMPLES / name, code=code)
    assert [row["path"] for row in found["failed"]] == [name] * rows


def test_a_bomb_is_a_row_of_the_kernels(capsysbinary: Out) -> None:
    found = document(capsysbinary, SAMPLES / "hostile_zstd_bomb.fatbin", "--kernels")
    assert found["files"][0]["modules"][0]["images"][0]["arch"] == "sm_120"
    assert "more bytes than announced" in found["failed"][0]["reason"]


def test_what_is_no_library(capsysbinary: Out, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    images(capsysbinary, tmp_path / "a.py", code=2)
    images(capsysbinary, tmp_path / "gone.so", code=2)
    (tmp_path / "a.so").write_bytes(b"")
    assert "no GPU image" in images(capsysbinary, tmp_path / "a.so")


def test_text_says_what_a_gpu_gets(capsysbinary: Out) -> None:
    text = images(capsysbinary, SAMPLES / "two_modules.so", "--target", "sm_121")
    assert "sm_121: 1 compatible, 1 not at all" in text
    assert "look at the library for aarch64" in text  # this one is for x86_64
    assert "look at" not in images(capsysbinary, SAMPLES / "two_modules.so", "--target", "sm_120")
    assert "look at" not in images(capsysbinary, SAMPLES / "plain.fatbin", "--target", "sm_121")


def test_zip_members_by_their_real_size(tmp_path: Path) -> None:
    data = bytearray(WHEEL.read_bytes())
    with zipfile.ZipFile(WHEEL) as archive:
        info = next(i for i in archive.infolist() if i.filename.endswith(".so"))
    central = data.rfind(info.filename.encode()) - 46
    assert data[central : central + 4] == b"PK\1\2"
    lying = tmp_path / "lying.whl"
    for declared in (100, 1 << 31):
        data[central + 24 : central + 28] = declared.to_bytes(4, "little")
        lying.write_bytes(data)
        found = read_library(Unread("x.so", "", declared, archive=str(lying), member=info.filename))
        assert isinstance(found, Failed) or found.size <= info.file_size


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z1kPf", "k"),
        ("_ZN8cub_like11EmptyKernelIiEEvv", "cub_like::EmptyKernel"),
        ("_ZN5faiss3gpu6kernelILi32EEEvPKf", "faiss::gpu::kernel"),
        ("_ZN12_GLOBAL__N_16kernelIfEEvPT_", "kernel"),
        ("_ZN2at6native51_GLOBAL__N__4d3f1c2e_10_Activation_cu_0a1b2c3d_12346kernelEv", "at::native::kernel"),
        ("_ZL4initv", "init"),
        ("_ZN3abcL4initEv", "abc::init"),
        ("works", "works"),
        ("_ZNK", "_ZNK"),
        ("_Z999x", "_Z999x"),
    ],
)  # fmt: skip
def test_names_of_kernels(mangled: str, name: str) -> None:
    if "_GLOBAL__N__" in mangled:
        length = len("_GLOBAL__N__4d3f1c2e_10_Activation_cu_0a1b2c3d_1234")
        mangled = mangled.replace("51_GLOBAL", f"{length}_GLOBAL")
    assert plain(mangled) == name
    assert last(mangled) == name.rpartition("::")[2]
