"""Calls of the CUDA driver, against a library of our own in its place: arguments as it declares them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Device 1 is of capability 9.0; contexts are counted by what is written to stderr.
STAND_IN = r"""
#include <stdio.h>
typedef int CUresult; typedef int CUdevice; typedef void* CUcontext;
CUresult cuInit(unsigned flags) { return flags; }
CUresult cuGetErrorName(CUresult code, const char** name) {
    *name = code == 101 ? "CUDA_ERROR_INVALID_DEVICE" : "CUDA_ERROR_OTHER";
    return 0;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (ordinal != 1) return 101;
    *device = 40 + ordinal;
    return 0;
}
CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
    if (device != 41) return 1;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : -1;
    return 0;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (device != 41) return 1;
    *context = (CUcontext) 0x1234;
    fprintf(stderr, "retained\n");
    return 0;
}
"""


def _with(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    head = "from solbench.jail import cuda_driver\n"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", head + program],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    source = folder / "driver.c"
    source.write_text(STAND_IN)
    command = [compiler, "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(source)]
    subprocess.run(command, check=True)
    return folder


def test_the_capability_of_a_device_is_asked_for_without_a_context(driver: Path) -> None:
    done = _with(driver, "print(cuda_driver.compute_capability(1))")
    assert (done.stdout, done.stderr) == ("(9, 0)\n", "")


def test_a_context_is_made_once(driver: Path) -> None:
    done = _with(driver, "cuda_driver.open_context(1)")
    assert (done.returncode, done.stderr) == (0, "retained\n")


@pytest.mark.parametrize("call", ["compute_capability", "open_context"])
def test_a_device_that_is_not_there_is_an_error_by_the_drivers_name(
    driver: Path, call: str
) -> None:
    done = _with(driver, f"cuda_driver.{call}(0)")
    assert "CudaDriverError: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE" in done.stderr
