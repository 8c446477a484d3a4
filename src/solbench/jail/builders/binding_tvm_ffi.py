"""TVM FFI: a function exported by ``TVM_FFI_DLL_EXPORT_TYPED_FUNC``, called with ``tvm::ffi::TensorView``s."""

from __future__ import annotations

from solbench.jail.builders._binding import Binding
from solbench.jail.builders._packages import package_folder, version_of

DISTRIBUTION = "apache-tvm-ffi"


def binding() -> Binding:
    """Raises ``BuildError`` if the package, which ships headers and library, is missing."""
    folder = package_folder("tvm_ffi", DISTRIBUTION, 'binding "tvm_ffi"')
    return Binding(
        "tvm_ffi",
        includes=(folder / "include",),
        libraries=(folder / "lib" / "libtvm_ffi.so",),
        version=version_of(DISTRIBUTION),
    )
