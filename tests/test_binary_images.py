"""Images in files: containers, cubins and PTX as nvcc and cuobjdump know them; damaged files; what kernels do."""

from __future__ import annotations

import os
import struct
import time

import pytest
from binary_samples import ANSWERS, HOSTILE, LISTED, LOOSE, mutants, natures, read_all, sample, streamed

from archscan.binary import lz4, sass
from archscan.binary.contents import Contents, of_buffer, of_stream
from archscan.binary.damage import Damaged
from archscan.binary.ptx import kernels as ptx_kernels
from archscan.binary.unpack import unpacked
from archscan.model.library import Image


def images(contents: Contents) -> list[Image]:
    return [image for module in contents.modules for image in module.images]


@pytest.mark.parametrize("name", LISTED)
def test_images_are_those_that_cuobjdump_lists(name: str) -> None:
    data = sample(name)
    found = of_buffer(data, name)
    listed = [
        {"kind": i.kind, "arch": f"sm_{i.target.sm}{i.target.suffix}", "compressed": i.compressed, "version": i.version}
        for i in images(found)
    ]
    assert listed == ANSWERS[name]["images"]
    assert found.failed == ()
    assert [any(m.relocatable for m in found.modules), found.machine] == {
        "relocatable.o": [True, "x86_64"],
        "two_modules.so": [False, "x86_64"],
        "two_modules.a": [False, "x86_64"],
    }.get(name, [False, ""])


@pytest.mark.parametrize("name", LISTED)
def test_kernels_do_what_nvdisasm_shows(name: str) -> None:
    data = sample(name)
    found = [natures(image, data) for image in images(of_buffer(data, name)) if image.kind == "cubin"]
    assert [dict(kernels.natures) for kernels in found] == list(ANSWERS[name]["kernels_by_nvdisasm"].values())
    assert {kernels.failed for kernels in found} == {""}


@pytest.mark.parametrize("name", LOOSE)
def test_chip_of_a_loose_cubin(name: str) -> None:
    found = of_buffer(sample(name), name)
    assert [image.name for image in images(found)] == [ANSWERS[name]["target"]]
    assert found.modules[0].loose and not found.failed


def test_loose_ptx() -> None:
    data = sample("loose_90a.ptx")
    (image,) = images(of_buffer(data, "loose_90a.ptx"))
    assert (image.name, image.kind) == ("compute_90a", "ptx")
    assert dict(natures(image, data).natures)["works"] == "code"
    assert of_buffer(b"no ptx at all", "x.ptx").failed == ("no PTX: it names no .version and .target",)


@pytest.mark.parametrize("step", [1, 7, 64, 4096, 1 << 20])
@pytest.mark.parametrize(
    "name", ["two_modules.so", "relocatable.o", "zstd.fatbin", "two_modules.a", "abi8_sm_121a.cubin"]
)
def test_a_stream_gives_what_the_file_gives(name: str, step: int) -> None:
    data = sample(name)
    assert of_stream(lambda: streamed(data, step), name) == of_buffer(data, name)


def test_containers_are_found_across_the_seams_of_a_long_stream() -> None:
    one, other = sample("plain.fatbin"), sample("lz4.fatbin")
    data = (
        b"\x7fELF" + bytes((1 << 20) - 10) + one + bytes(3 << 20) + other + bytes(1 << 20) + sample("abi7_sm_90a.cubin")
    )
    found = of_stream(lambda: streamed(data, 1 << 20))
    assert found == of_buffer(data)
    assert [image.name for image in images(found)] == [
        "sm_75", "compute_121", "sm_121", "compute_75", "sm_75", "sm_90", "sm_90a",
    ]  # fmt: skip


def test_tables_far_from_the_end_of_a_stream() -> None:
    """Debug sections can stand behind the section table."""
    data = sample("relocatable.o") + bytes(4 << 20)
    found = of_stream(lambda: streamed(data, 1 << 20))
    assert found == of_buffer(data)
    assert found.modules[0].relocatable and found.machine == "x86_64"
    late = b"\x7fELF" + sample("relocatable.o")[4:]
    shifted = late[:40] + (3 << 20).to_bytes(8, "little") + late[48:]  # a table that is not there
    assert of_stream(lambda: streamed(shifted + bytes(5 << 20), 1 << 20)).modules[0].images


DAMAGED = {
    "hostile_truncated.fatbin": ([], "truncated in an image"),
    "hostile_container_size.fatbin": (
        ["sm_75", "sm_86", "sm_103a", "sm_110f", "sm_121a", "compute_120a", "compute_100f"],
        "truncated where an image should begin",
    ),
    "hostile_entry_size.fatbin": ([], "ends outside of its container"),
    "hostile_zero_header.fatbin": ([], "an image header of 0 bytes"),
    "hostile_huge_raw_size.fatbin": (
        ["sm_86", "sm_103a", "sm_110f", "sm_121a", "compute_120a", "compute_100f"],
        "more than 1 GiB",
    ),
}


@pytest.mark.parametrize("name", sorted(DAMAGED))
def test_what_is_damaged_is_one_row_and_the_rest_is_read(name: str) -> None:
    names, why = DAMAGED[name]
    found = of_buffer(sample(name), name)
    assert [image.name for image in images(found)] == names
    assert len(found.failed) == 1 and why in found.failed[0]


def test_what_follows_a_damaged_container_is_read() -> None:
    data = sample("hostile_zero_header.fatbin") + sample("plain.fatbin")
    found = of_buffer(data)
    assert [image.name for image in images(found)] == ["sm_75", "compute_121", "sm_121"]
    assert len(found.failed) == 1


def test_a_bomb_stops_at_what_was_announced() -> None:
    name = "hostile_zstd_bomb.fatbin"
    assert name in HOSTILE
    data = sample(name)
    (image,) = images(of_buffer(data, name))
    assert image.name == "sm_120"
    assert natures(image, data).failed == "its zstd data hold more bytes than announced (4,096)"


def test_without_zstd_the_kernels_are_said_to_be_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archscan.binary.unpack._module", lambda: None)
    data = sample("zstd.fatbin")
    found = of_buffer(data)
    assert len(images(found)) == 7  # the list of images needs none
    assert "backports.zstd" in natures(images(found)[0], data).failed


def test_lz4_block() -> None:
    # token 0x31: 3 literals, match of 5 at distance 3 (overlapping); then 1 literal at the end
    block = bytes([0x31]) + b"abc" + bytes([3, 0]) + bytes([0x10]) + b"z"
    assert lz4.unpacked(block, 9) == b"abcabcabz"
    for size in (8, 10):
        with pytest.raises(Damaged):
            lz4.unpacked(block, size)
    long = bytes([0xF0, 255, 0]) + bytes(270)
    assert lz4.unpacked(long, 270) == bytes(270)
    for broken in (block[:3], block[:5], bytes([0x10, 65, 2, 0]), bytes([0xF0, 255]), bytes([0x11, 65, 0, 0])):
        with pytest.raises(Damaged):
            lz4.unpacked(broken, 100)


def test_unknown_compression_is_said() -> None:
    with pytest.raises(Damaged, match="does not know"):
        unpacked(b"1234", "unknown", 4)


def word(opcode: int, guard: int = 7, register: int = 0xFF) -> bytes:
    """A Volta word: opcode, guard (7 = always, 15 = never), first register."""
    return struct.pack("<QQ", opcode | guard << 12 | register << 16, 0)


STACK, EXIT, BRANCH, NOP, TRAP = word(0xB82, register=1), word(0x94D), word(0x947), word(0x918), word(0x95C)
STORE, CALL, ADD, BMOV = word(0x986), word(0x944), word(0x210), word(0x355)


@pytest.mark.parametrize(
    ("code", "sm", "nature"),
    [
        (STACK + EXIT + BRANCH + NOP * 5, 90, sass.EMPTY),
        (STACK + EXIT + BRANCH + STORE, 90, sass.CODE),  # something behind the first exit
        (STACK + ADD + EXIT + BRANCH, 90, sass.DEAD),
        (STACK + ADD + word(0x986, guard=0xF) + EXIT, 90, sass.DEAD),  # @!PT never stores
        (STACK + ADD + word(0x986, guard=0) + EXIT, 90, sass.CODE),  # @P0 may
        (STACK + ADD + CALL + EXIT + BRANCH, 90, sass.CODE),  # what is called may do anything
        (STACK + ADD + word(0x38B) + EXIT, 90, sass.CODE),  # ATOM.CAS, all that some reductions of cuDNN do
        (STACK + TRAP + EXIT, 90, sass.TRAP),
        (STACK + STORE + TRAP + EXIT, 90, sass.CODE),  # traps after it has done something
        (BMOV + EXIT + BRANCH, 87, sass.DEAD),  # how empty ones begin there
        (b"", 90, sass.UNKNOWN),
        (EXIT[:8], 90, sass.UNKNOWN),
    ],
)  # fmt: skip
def test_nature_of_machine_code(code: bytes, sm: int, nature: str) -> None:
    assert sass.nature(code, sm) == nature


def test_nature_of_code_before_volta() -> None:
    schedule, exit_, branch, nop = 0x001F8000FFE007FF, 0xE30000000007000F, 0xE2400FFFFF87000F, 0x50B0000000070F00
    empty = struct.pack("<8Q", schedule, 0x4C98078000870001, exit_, branch, schedule, nop, nop, nop)
    assert sass.nature(empty, 61) == sass.EMPTY
    store = struct.pack("<4Q", schedule, 0xEEDC200000070200, exit_, branch)
    assert sass.nature(store, 61) == sass.UNKNOWN  # it may well do something: not looked at


PTX = b"""
.version 8.7
.target sm_120
// .entry not_this_one() { st.global.u32 [%rd1], 1; }
.visible .entry empty(.param .u64 empty_param_0)
{
  .reg .b64 %rd<3>;
  $L__BB0_1: ret;
}
.visible .entry traps() .maxntid 128, 1, 1 { trap; ret; }
.visible .entry dead(.param .u64 p) { ld.param.u64 %rd1, [p]; @%p1 bra $L1; add.s64 %rd2, %rd1, 4; $L1: ret; }
.visible .entry stores(.param .u64 p) { ld.param.u64 %rd1, [p]; @!%p1 st.global.u32 [%rd1], 1; ret; }
.visible .entry calls() { { call.uni f, (); } ret; }
.visible .entry keeps(.param .u64 p) { st.local.u32 [%rd1], 1; st.shared.u32 [%rd1], 1; ret; }
.visible .entry generic(.param .u64 p) { st.u32 [%rd1], 1; ret; }
.visible .entry waits(.param .u64 p) { nanosleep.u32 20; ret; }
.func helper() { st.global.u32 [%rd1], 1; }
.visible .entry declared(.param .u64 p);
"""


def test_nature_of_ptx() -> None:
    expected = {"empty": "empty", "traps": "trap", "dead": "dead", "stores": "code", "calls": "code"}
    assert ptx_kernels(PTX) == {**expected, "keeps": "dead", "generic": "code", "waits": "unknown"}


def test_mutated_samples_never_raise_or_take_long() -> None:
    number = int(os.environ.get("ARCHSCAN_BINARY_MUTANTS", "1500"))
    for i, (name, data) in enumerate(mutants(number, seed=7)):
        began = time.process_time()
        try:
            read_all(data, name)
        except Exception as error:
            raise AssertionError(f"mutant {i} of {name}") from error
        assert time.process_time() - began < 1, f"mutant {i} of {name}"
