"""Shared objects: what they import, and programs that lie in them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from solbench.judge.guard import review_binary


def build(folder: Path, source: str, *flags: str) -> Path:
    (folder / "a.cpp").write_text(source)
    command = ["g++", "-shared", "-fPIC", *flags, "a.cpp", "-o", "a.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "a.so"


def test_an_honest_shared_object_has_no_findings(tmp_path: Path) -> None:
    source = (
        'extern "C" int run(float* y, int n) { for (int i = 0; i < n; ++i) y[i] *= 3; return 0; }'
    )
    assert review_binary(build(tmp_path, source)) == ()


def test_forbidden_imports_are_named_however_the_source_hid_them(tmp_path: Path) -> None:
    source = '#define A(b, c) b##c\nextern "C" int A(fo, rk)();\nextern "C" int run() { return A(fo, rk)(); }'
    found = review_binary(build(tmp_path, source))
    assert [(each.rule, each.severity, each.message) for each in found] == [
        ("binary_import", "alarm", "imports fork")
    ]


def test_what_the_cuda_runtime_imports_is_no_finding_beside_device_code(tmp_path: Path) -> None:
    source = (
        'extern "C" int mprotect(void*, unsigned long, int);\n'
        'extern "C" int fork();\n'
        'extern "C" int run() { return mprotect(0, 0, 0) + fork(); }'
    )
    section = '\n__attribute__((section(".nv_fatbin"))) int device_code = 1;'

    def imports(text: str) -> list[str]:
        return [each.message for each in review_binary(build(tmp_path, text))]

    assert imports(source) == ["imports fork", "imports mprotect"]
    assert imports(source + section) == ["imports fork"]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_an_honest_object_of_nvcc_has_no_findings(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(
        "__global__ void fill(float* y) { y[threadIdx.x] = 1; }\n"
        'extern "C" int run(float* y) { fill<<<1, 32>>>(y); return cudaGetLastError(); }\n'
    )
    command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "a.cu", "-o", "a.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert review_binary(tmp_path / "a.so") == ()


def test_a_program_within_is_found_and_device_code_is_not_one(tmp_path: Path) -> None:
    library = build(tmp_path, 'extern "C" int run() { return 0; }')
    plain = library.read_bytes()
    cubin = bytearray(plain[:64])
    cubin[18:20] = (190).to_bytes(2, "little")
    library.write_bytes(plain + bytes(cubin))
    assert review_binary(library) == ()
    library.write_bytes(plain + plain[:64])
    assert [each.rule for each in review_binary(library)] == ["binary_embedded"]


@pytest.mark.parametrize("cut", [10, 70, 2000])
def test_a_torn_file_is_said_to_be_unread(cut: int, tmp_path: Path) -> None:
    library = build(tmp_path, 'extern "C" int run() { return 0; }')
    library.write_bytes(library.read_bytes()[:cut])
    assert [each.rule for each in review_binary(library)] == ["unread"]
