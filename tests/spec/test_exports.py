from __future__ import annotations

import subprocess
import sys

import pytest

import solbench.spec


def test_everything_exported_exists_once_and_sorted_reading() -> None:
    assert len(set(solbench.spec.__all__)) == len(solbench.spec.__all__)
    for name in solbench.spec.__all__:
        assert getattr(solbench.spec, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = solbench.spec.absent


def test_reading_and_checking_files_does_not_import_torch(public_form: object) -> None:
    program = (
        "import sys, solbench.spec as spec\n"
        f"spec.load_problem({str(public_form)!r} + '/norm_project')\n"
        f"spec.check({str(public_form)!r})\n"
        "spec.schema('trace')\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
