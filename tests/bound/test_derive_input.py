import pytest

from solbench.bound import derive_bound
from solbench.errors import InputError


def test_a_path_is_refused_with_the_call_that_loads_it():
    with pytest.raises(
        InputError, match=r"problem: .* not a str\. Load it with solbench\.load_problem"
    ):
        derive_bound("examples/rmsnorm", "h200")
