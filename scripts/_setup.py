"""Make ``.venv`` in this checkout. Run by ``scripts/_env`` with any Python 3.11 to 3.13; needs only pip.

An existing torch >= 2.9 is used as it is. Otherwise the CPU build pinned in constraints.txt is installed
from wherever pip is configured to look. A CUDA build (several gigabytes) is never fetched without asking.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
OLDEST_TORCH = (2, 9)
ALLOW = "SOLBENCH_ALLOW_CUDA_TORCH"


def main(extra: str) -> None:
    if not usable(PYTHON):
        make_venv()
    if all_installed(extra):
        link_checkout()
    else:
        install_packages(extra)


def run(*command: object, quiet: bool = False) -> bool:
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run([str(c) for c in command], stdout=output, stderr=output).returncode == 0


def usable(python: Path) -> bool:
    return python.exists() and run(python, "-m", "pip", "--version", quiet=True)


def make_venv() -> None:
    """With an interpreter that has torch if there is one; else the first that can get the CPU build."""
    pythons = interpreters()
    with_torch = [python for python in pythons if torch_version(python) >= OLDEST_TORCH]
    if with_torch:
        print(f"set-up: using the torch that {with_torch[0]} has")
        create(with_torch[0], "--system-site-packages")
        return
    for python in pythons:
        print(f"set-up: making .venv with {python}")
        create(python)
        if install(f"torch=={pinned('torch')}+cpu", quiet=True):
            return
    create(pythons[0])
    install_default_torch()


def interpreters() -> list[str]:
    names = ("python3", "python3.11", "python3.12", "python3.13")
    found = [sys.executable, *filter(None, map(shutil.which, names))]
    check = "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))"
    return [p for p in dict.fromkeys(found) if run(p, "-c", check, quiet=True)]


def torch_version(python: str | Path) -> tuple[int, ...]:
    probe = "import importlib.metadata as m; print(m.version('torch'))"
    result = subprocess.run([str(python), "-c", probe], capture_output=True, text=True)
    return tuple(map(int, re.findall(r"\d+", result.stdout)[:2])) if not result.returncode else ()


def create(python: str, *options: str) -> None:
    """Debian splits ensurepip off, so a venv may have to get its pip from the system's pip."""
    shutil.rmtree(VENV, ignore_errors=True)
    if run(python, "-m", "venv", *options, VENV, quiet=True) and usable(PYTHON):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    if not run(python, "-m", "venv", "--without-pip", *options, VENV):
        sys.exit(
            "set-up: this Python cannot make virtual environments (its venv module is missing)."
        )
    site = VENV / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    got_pip = (
        usable(PYTHON)
        or run(python, "-m", "pip", "--python", PYTHON, "install", "-q", "pip", quiet=True)
        or run(python, "-m", "pip", "install", "-q", "--target", site, "pip")
    )
    if not got_pip:
        sys.exit("set-up: no pip found. Install it (Debian, Ubuntu: apt install python3-pip).")


def pinned(package: str) -> str:
    text = (ROOT / "constraints.txt").read_text()
    return re.search(rf"^{package}==(\S+)$", text, re.MULTILINE)[1]  # type: ignore[index]


def install(*what: object, quiet: bool = False) -> bool:
    return run(
        PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", *what, quiet=quiet
    )


def install_default_torch() -> None:
    """Elsewhere than on Linux the default build is a CPU build; on Linux it brings CUDA along."""
    if sys.platform == "linux" and not os.environ.get(ALLOW) and not asked():
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(
            "set-up: pip finds no CPU build of torch here, and the default one brings several GB of CUDA.\n"
            "Choose one of these and run again:\n"
            "  - install torch >= 2.9 yourself; it will be found and used\n"
            "  - point pip at the PyTorch project's CPU index (its install page has the address):\n"
            "      export PIP_EXTRA_INDEX_URL=ADDRESS\n"
            f"  - accept the download:  export {ALLOW}=1"
        )
    if not install(f"torch=={pinned('torch')}"):
        sys.exit("set-up: torch could not be installed; pip's message is above.")


def asked() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("set-up: download the CUDA build of torch, several GB? [y/N] ").lower() in (
        "y",
        "yes",
    )


def requirements(extra: str) -> set[str]:
    """Names of the packages that solbench with this extra needs, extras of our own opened."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names, waiting = set(), [*project["dependencies"], f"solbench[{extra}]"]
    while waiting:
        requirement = waiting.pop()
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
        if name == "solbench":
            waiting += [
                each for one in extras.split(",") for each in project["optional-dependencies"][one]
            ]
        else:
            names.add(name)
    return names


def all_installed(extra: str) -> bool:
    probe = "import importlib.metadata as m, sys; [m.version(name) for name in sys.argv[1:]]"
    return run(PYTHON, "-c", probe, *sorted(requirements(extra)), quiet=True)


def link_checkout() -> None:
    """Everything is there (perhaps offline): put src/ on the path without asking pip for anything."""
    probe = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([str(PYTHON), "-c", probe], capture_output=True, text=True, check=True)
    (Path(site.stdout.strip()) / "solbench-checkout.pth").write_text(f"{ROOT / 'src'}\n")


def install_packages(extra: str) -> None:
    """The torch at hand stays: its own pins (of triton, too) win over ours."""
    print(f"set-up: installing solbench[{extra}] into .venv")
    constraints = VENV / "constraints.txt"
    text = (ROOT / "constraints.txt").read_text()
    if torch_version(PYTHON) != tuple(map(int, pinned("torch").split(".")[:2])):
        text = re.sub(r"^(torch|triton)==.*$", "", text, flags=re.MULTILINE)
    constraints.write_text(text)
    if not install("-c", constraints, "-e", f"{ROOT}[{extra}]"):
        sys.exit("set-up: pip could not install the requirements; its message is above.")


if __name__ == "__main__":
    main(sys.argv[1])
