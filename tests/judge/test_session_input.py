import pytest

from solbench.errors import InputError
from solbench.judge import Judge, evaluate


def test_a_path_in_place_of_a_problem_is_refused_with_the_call_that_loads_it():
    judge = object.__new__(Judge)  # refused before anything is started
    with pytest.raises(
        InputError, match=r"problem: .* not a str\. Load it with solbench\.load_problem"
    ):
        judge.evaluate("examples/rmsnorm", "solution.json")


def test_no_judge_is_started_for_it(monkeypatch):
    monkeypatch.setattr(
        "solbench.judge._process.Link", lambda start: pytest.fail("a judge was started")
    )
    with pytest.raises(InputError, match=r"problem: .* not a str"):
        evaluate("examples/rmsnorm", "solution.json")
