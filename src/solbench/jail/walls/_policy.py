"""Which files a jailed process may reach.

Everything here is computed in a process that has not seen a problem. What must stay out: problem folders,
SolBench itself (the bundled suite lies in it), source trees linked into the environment, home folders,
other workers' scratch, other processes.
"""

from __future__ import annotations

import functools
import os
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from solbench.jail.walls._landlock import READ, Access, AllowList

_SYSTEM_READ = (
    "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/alternatives", "/etc/ssl/openssl.cnf", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
    "/proc/sys/vm",
    "/sys/devices/system", "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
_SYSTEM_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_CUDA_READ = (
    "/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/usr/local/nvidia",
    "/usr/local/cuda", "/sys/module/nvidia", "/sys/module/nvidia_uvm", "/sys/bus/pci/devices",
    "/sys/devices/pci0000:00", "/etc/nvidia", "/opt/nvidia",
)  # fmt: skip
_CUDA_DRIVER_FOLDERS = (
    "/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64", "/usr/lib/wsl/lib", "/lib",
)  # fmt: skip
_COMPILERS = (
    "g++", "gcc", "c++", "cc", "ld", "as", "nvcc", "ldconfig", "/sbin/ldconfig",
    "openssl",  # torch.compile has it hash the headers that it precompiles
)  # fmt: skip
_COMPILER_PARTS = ("cc1plus", "cc1", "collect2", "lto1", "lto-wrapper", "as", "ld")
_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")


def excluded_trees() -> tuple[Path, ...]:
    """SolBench's package, and its checkout when it is installed in place."""
    package = Path(__file__).resolve().parents[2]
    checkout = package.parents[1]
    return (package, checkout) if (checkout / "pyproject.toml").exists() else (package,)


def tree_without(root: Path, excluded: Iterable[Path]) -> list[str]:
    """``root``, or those of its descendants that together are ``root`` without the excluded trees."""
    root = root.resolve()
    inside = [path for path in excluded if path.is_relative_to(root)]
    if not inside:
        return [str(root)]
    if root in inside or not root.is_dir():
        return []
    return [found for child in sorted(root.iterdir()) for found in tree_without(child, inside)]


def _package_folders() -> tuple[Path, ...]:
    """Where installed packages lie, any folder of the import path that an installer filled too; not what
    ``.pth`` files link in."""
    paths = sysconfig.get_paths()
    found = {Path(paths["purelib"]), Path(paths["platlib"]), *map(Path, site.getsitepackages())}
    for module in ("torch", "numpy"):
        loaded = sys.modules.get(module)
        if loaded is not None and loaded.__file__:
            found.add(Path(loaded.__file__).parents[1])
    named = (Path(entry) for entry in sys.path if entry)
    found |= {folder for folder in named if any(folder.glob("*.dist-info"))}
    return tuple(sorted(path for path in found if path.is_dir()))


def _library_folders() -> tuple[Path, ...]:
    """The standard library, and the interpreter's own shared libraries and headers."""
    paths = sysconfig.get_paths()
    found = {Path(paths[key]) for key in ("stdlib", "platstdlib", "include")}
    found |= {Path(sys.base_prefix, "lib"), Path(sys.base_exec_prefix, "lib")}
    return tuple(sorted(path for path in found if path.is_dir()))


@functools.lru_cache
def listed_folders() -> tuple[str, ...]:
    """Folders of the import path: the interpreter must list them, which shows names, not contents."""
    return tuple(str(path) for path in (*_package_folders(), *_library_folders()))


@functools.lru_cache
def python_files() -> tuple[str, ...]:
    """Everything that an interpreter needs to import installed packages, SolBench left out."""
    excluded = excluded_trees()
    folders = {*_package_folders(), *_library_folders()}
    found: list[str] = []
    for folder in sorted(folders):
        # The environment may lie inside the checkout, so its packages are named one by one.
        outside = [path for path in excluded if not folder.resolve().is_relative_to(path)]
        for child in sorted(folder.iterdir()):
            if not (_is_ours(child) or _leads_to(child, folders)):
                found += tree_without(child, outside)
    return tuple(dict.fromkeys(found))


def _leads_to(child: Path, folders: Iterable[Path]) -> bool:
    """Package folders are walked themselves: admitting a parent would admit what they leave out."""
    return child.name in ("site-packages", "dist-packages") or any(
        folder.is_relative_to(child) for folder in folders
    )


def _is_ours(child: Path) -> bool:
    return child.name.lower().startswith(("solbench", "__editable__"))


@functools.lru_cache
def system_files() -> tuple[str, ...]:
    """System libraries and headers, without a SolBench that lies among them."""
    return (*_SYSTEM_READ, *tree_without(Path("/usr"), excluded_trees()))


@functools.lru_cache
def compiler_programs() -> tuple[str, ...]:
    """The C++ compiler, its parts and the loader: what Triton and ``torch.compile`` start."""
    found = [path for name in _COMPILERS if (path := shutil.which(name))]
    driver = shutil.which("g++") or shutil.which("gcc")
    if driver:
        found += [_program_of(driver, part) for part in _COMPILER_PARTS]
    return tuple(dict.fromkeys(path for path in (*found, *_LOADERS) if Path(path).is_absolute()))


def _compiler_trees() -> tuple[str, ...]:
    """Where a compiler's own files lie, if not under ``/usr``: ``<tree>/bin/g++`` → the tree."""
    drivers = (shutil.which(name) for name in ("g++", "gcc"))
    trees = {Path(driver).resolve().parents[1] for driver in drivers if driver}
    return tuple(str(tree) for tree in sorted(trees) if not tree.is_relative_to("/usr"))


def _program_of(driver: str, part: str) -> str:
    asked = subprocess.run(
        [driver, f"-print-prog-name={part}"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


@functools.lru_cache
def _triton_programs() -> tuple[str, ...]:
    """``ptxas`` and its like inside the Triton and torch packages, without importing Triton."""
    programs = [
        program
        for folder in _package_folders()
        for pattern in ("triton/backends/*/bin/*", "torch/bin/ptxas*")
        for program in sorted(folder.glob(pattern))
    ]
    return tuple(str(program) for program in programs if program.is_file())


def cuda_files() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the NVIDIA driver needs: files to read, devices to use."""
    devices = sorted(str(path) for path in Path("/dev").glob("nvidia*"))
    toolkits = sorted(str(path) for path in Path("/usr/local").glob("cuda*"))
    return (*_CUDA_READ, *toolkits), tuple(devices)


def cuda_driver_folder() -> str:
    """Where ``libcuda.so.1`` lies; empty if it is not found."""
    folders = (*_library_path(), *_CUDA_DRIVER_FOLDERS)
    return next((folder for folder in folders if Path(folder, "libcuda.so.1").exists()), "")


def _library_path() -> tuple[str, ...]:
    """Folders of ``LD_LIBRARY_PATH``, which the zygote passes on."""
    named = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return tuple(path for path in named if Path(path).is_absolute())


def _libraries() -> tuple[str, ...]:
    """What lies in those folders, without a SolBench, or its checkout, that lies below one of them."""
    folders = (Path(path) for path in _library_path())
    return tuple(
        found
        for folder in folders
        if folder.is_dir()
        for found in tree_without(folder, excluded_trees())
    )


def worker_allow_list(*, artifact: str, scratch: str, compilers: bool, cuda: bool) -> AllowList:
    """What a worker may reach. ``compilers`` lets it start them until it is sealed."""
    cuda_read, cuda_devices = cuda_files() if cuda else ((), ())
    # torch.compile starts the interpreter to try out what it has built.
    programs = (
        (*compiler_programs(), *_compiler_trees(), *_triton_programs(), sys.executable)
        if compilers
        else ()
    )
    rules = dict.fromkeys(listed_folders(), Access.READ_DIR)
    if cuda:
        # The driver names its threads (opens their comm with O_TRUNC); cuInit fails with 304 otherwise.
        rules["/proc/self/task"] = READ | Access.WRITE_FILE | Access.TRUNCATE
    return AllowList(
        read=(
            *python_files(),
            *system_files(),
            *_libraries(),
            *cuda_read,
            artifact,
            "/proc/self",
        ),
        execute=programs,
        device=(*_SYSTEM_DEVICES, *cuda_devices),
        scratch=(scratch,),
        rules=rules,
    )


def compiler_allow_list(*, sources: str, scratch: str, toolchain: Iterable[str]) -> AllowList:
    """What a compiler's process may reach: its sources, its folder, the system's toolchain."""
    return AllowList(
        read=(*_SYSTEM_READ, "/proc/self", sources),
        execute=(
            *tree_without(Path("/usr"), excluded_trees()),
            "/bin",
            "/lib",
            "/lib64",
            *toolchain,
        ),
        device=_SYSTEM_DEVICES,
        scratch=(scratch,),
    )
