"""The few calls of the CUDA driver that judge and worker need, through ctypes on ``libcuda.so.1``.

Standard library only: the worker imports it beside untrusted code, where a binding package would be one more
thing to trust. Every function works on the context that is current on the calling thread (torch's primary
context once torch has touched the device) and raises ``CudaDriverError`` with the driver's own error name.
"""

from __future__ import annotations

import ctypes
from functools import cache

IPC_HANDLE_BYTES = 64
IPC_BLOCK_BYTES = 2 << 20
"""An IPC handle exports whole allocation blocks of this size; arenas are multiples of it."""

_IPC_LAZY_ENABLE_PEER_ACCESS = 1
_WAIT_VALUE_GEQ = 0
_WRITE_VALUE_DEFAULT = 0
_HOST_REGISTER_DEVICEMAP = 2
_CAPABILITY_MAJOR = 75
_CAPABILITY_MINOR = 76


class CudaDriverError(RuntimeError):
    """A driver call failed; the message is ``function: CUDA_ERROR_NAME``."""


class _IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_byte * IPC_HANDLE_BYTES)]


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CudaDriverError(f"libcuda.so.1: {error}") from error
    _check(library, "cuInit", library.cuInit(0))
    return library


def _check(library: ctypes.CDLL, function: str, code: int) -> None:
    if code == 0:
        return
    name = ctypes.c_char_p()
    library.cuGetErrorName(code, ctypes.byref(name))
    text = name.value.decode() if name.value else f"error {code}"
    raise CudaDriverError(f"{function}: {text}")


def _call(function: str, *arguments: object) -> None:
    library = _library()
    _check(library, function, getattr(library, function)(*arguments))


def open_context(ordinal: int) -> None:
    """Have the driver make the device's primary context, which takes it a while; torch finds it there. It is
    not made current."""
    context = ctypes.c_void_p()
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), _device(ordinal))


def compute_capability(ordinal: int) -> tuple[int, int]:
    """Major and minor number. It needs no context."""
    device = _device(ordinal)
    values = []
    for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
        value = ctypes.c_int()
        _call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(attribute), device)
        values.append(value.value)
    major, minor = values
    return major, minor


def _device(ordinal: int) -> ctypes.c_int:
    device = ctypes.c_int()
    _call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(ordinal))
    return device


def allocate(nbytes: int) -> int:
    """Device address of a fresh allocation of ``nbytes``, its own IPC blocks."""
    address = ctypes.c_uint64()
    _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(nbytes))
    return address.value


def free(address: int) -> None:
    _call("cuMemFree_v2", ctypes.c_uint64(address))


def export_handle(address: int) -> bytes:
    """The 64-byte IPC handle of an allocation made by ``allocate``."""
    handle = _IpcHandle()
    _call("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(address))
    return bytes(handle)


def open_handle(handle: bytes) -> int:
    """Address in this process of an allocation exported by another one of the same user."""
    address = ctypes.c_uint64()
    _call(
        "cuIpcOpenMemHandle_v2",
        ctypes.byref(address),
        _IpcHandle.from_buffer_copy(handle),
        ctypes.c_uint(_IPC_LAZY_ENABLE_PEER_ACCESS),
    )
    return address.value


def stream_wait_value(stream: int, address: int, value: int) -> None:
    """Make ``stream`` wait until the uint32 at ``address`` is at least ``value``."""
    _call(
        "cuStreamWaitValue32_v2",
        ctypes.c_void_p(stream),
        ctypes.c_uint64(address),
        ctypes.c_uint32(value),
        ctypes.c_uint(_WAIT_VALUE_GEQ),
    )


def stream_write_value(stream: int, address: int, value: int) -> None:
    """Write the uint64 at ``address`` when ``stream`` gets here, after all that was enqueued before."""
    _call(
        "cuStreamWriteValue64_v2",
        ctypes.c_void_p(stream),
        ctypes.c_uint64(address),
        ctypes.c_uint64(value),
        ctypes.c_uint(_WRITE_VALUE_DEFAULT),
    )


def load_kernel(image: bytes, name: str) -> int:
    """A kernel of a module (PTX ends with a zero byte); it stays loaded with the context."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
    _call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(name.encode()))
    return function.value or 0


def launch(function: int, stream: int, *arguments: int) -> None:
    """Launch one thread; every parameter of the kernel is an uint64."""
    values = [ctypes.c_uint64(argument) for argument in arguments]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    grid, block = (1, 1, 1), (1, 1, 1)
    _call(
        "cuLaunchKernel",
        ctypes.c_void_p(function),
        *(ctypes.c_uint(size) for size in (*grid, *block, 0)),
        ctypes.c_void_p(stream),
        pointers,
        None,
    )


def register_host(address: int, nbytes: int) -> int:
    """Pin pages of this process for the device; returns their address on it."""
    _call(
        "cuMemHostRegister_v2",
        ctypes.c_void_p(address),
        ctypes.c_size_t(nbytes),
        ctypes.c_uint(_HOST_REGISTER_DEVICEMAP),
    )
    device_address = ctypes.c_uint64()
    _call(
        "cuMemHostGetDevicePointer_v2",
        ctypes.byref(device_address),
        ctypes.c_void_p(address),
        ctypes.c_uint(0),
    )
    return device_address.value


def reset_persisting_l2() -> None:
    """Return all persisting cache lines to normal, whoever set them."""
    _call("cuCtxResetPersistingL2Cache")


class DeviceBytes:
    """A span of device memory that torch can view: ``torch.as_tensor(span, device=...)`` gives uint8."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }
