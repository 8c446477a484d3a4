"""What the shim does with a well-behaved solution, and with one that returns the wrong thing."""

from __future__ import annotations

import pytest
import torch
from tests.jail.conftest import Spawn, layout_of

from solbench.jail import Command, Limits, ScalarField, Status

IN_PLACE = layout_of(
    [("x", (3, 5), "float32"), ScalarField("k", 2.5), ("n", (4,), "int64")],
    [("a", (3, 5), "float32"), ("b", (4,), "int64")],
    slots=2,
)


def test_an_in_place_solution_reads_fresh_inputs_on_every_slot(spawn: Spawn) -> None:
    jailed = spawn(
        "def run(x, k, n, a, b):\n    a.copy_(x * k)\n    b.copy_(n + 1)\n",
        layout=IN_PLACE,
        in_place=True,
    )
    assert jailed.seal().ok
    for turn in range(4):
        slot = turn % 2
        jailed.input("x", slot).fill_(turn)
        jailed.input("n", slot).fill_(10 * turn)
        assert jailed.run(slot=slot).ok
        assert torch.equal(jailed.output("a", slot), torch.full((3, 5), 2.5 * turn))
        assert torch.equal(jailed.output("b", slot), torch.full((4,), 10 * turn + 1))


@pytest.mark.parametrize(
    "returned", ["(x * k, n + 1)", "[x * k, n + 1]", "{'b': n + 1, 'a': x * k}"]
)
def test_returned_values_are_copied_into_the_outputs(spawn: Spawn, returned: str) -> None:
    jailed = spawn(f"def run(x, k, n):\n    return {returned}\n", layout=IN_PLACE)
    assert jailed.seal().ok
    jailed.input("x").fill_(4)
    jailed.input("n").fill_(6)
    assert jailed.run().ok
    assert torch.equal(jailed.output("a"), torch.full((3, 5), 10.0))
    assert torch.equal(jailed.output("b"), torch.full((4,), 7))


def test_inputs_written_while_the_worker_is_frozen_are_what_it_reads(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    return x + 1\n")
    assert jailed.seal().ok
    for value in (3.0, 8.0):
        assert jailed.do(Command.ARM).ok
        jailed.worker.freeze()
        assert jailed.worker.frozen()
        jailed.input("x").fill_(value)
        sequence = jailed.worker.command(Command.RUN)
        jailed.worker.thaw()
        assert jailed.worker.wait(sequence, 10).ok
        assert torch.equal(jailed.output(), torch.full((8,), value + 1))


def test_a_frozen_worker_does_nothing(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    return x + 1\n")
    assert jailed.seal().ok
    jailed.worker.freeze()
    sequence = jailed.worker.command(Command.RUN)
    assert not jailed.worker.answers(sequence, 0.05)
    jailed.worker.thaw()
    assert jailed.worker.wait(sequence, 10).ok


def test_writing_into_an_input_leaves_the_judges_bytes_alone(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    x.mul_(3)\n    return x\n")
    assert jailed.seal().ok
    jailed.input("x").fill_(2)
    for _ in range(2):
        assert jailed.run().ok
        assert torch.equal(jailed.output(), torch.full((8,), 6.0))
    assert torch.equal(jailed.input("x"), torch.full((8,), 2.0))


def test_an_input_declared_mutable_is_changed_for_the_judge_too(spawn: Spawn) -> None:
    layout = layout_of(
        [("x", (8,), "float32"), ("cache", (8,), "float32")],
        [("out", (8,), "float32")],
        mutates=("cache",),
    )
    jailed = spawn("def run(x, cache):\n    cache.add_(x)\n    return cache\n", layout=layout)
    assert jailed.seal().ok
    jailed.input("x").fill_(2)
    jailed.input("cache").fill_(5)
    assert jailed.run().ok
    assert torch.equal(jailed.input("cache"), torch.full((8,), 7.0))


def test_addresses_repeat_and_objects_do_not(spawn: Spawn) -> None:
    source = """
        seen = []
        def run(x):
            fresh = not hasattr(x, "mark")
            x.mark = True
            seen.append((x.data_ptr(), fresh))
            return x * 0 + (len({p for p, _ in seen}) == 1 and all(f for _, f in seen))
    """
    jailed = spawn(source)
    assert jailed.seal().ok
    for _ in range(3):
        assert jailed.run().ok
        assert torch.equal(jailed.output(), torch.ones(8))


def test_zero_dimensional_and_empty_tensors_and_scalars(spawn: Spawn) -> None:
    layout = layout_of(
        [("x", (), "bfloat16"), ("e", (0, 4), "float32"), ScalarField("n", 3)],
        [("out", (), "bfloat16"), ("total", (), "float32"), ("none", (0,), "bool")],
    )
    source = "def run(x, e, n):\n    return x * n, 2.5, e[:, 0] > 0\n"
    jailed = spawn(source, layout=layout)
    jailed.input("x").fill_(2)
    assert jailed.seal().ok
    assert jailed.run().ok
    assert jailed.output().item() == 6.0
    assert jailed.output("total").item() == 2.5


@pytest.mark.parametrize(
    "returned",
    [
        "torch.sort(x)",
        "Pair(*torch.sort(x))",
        "{'rest': 1, 'order': torch.sort(x)[1], 'sorted': torch.sort(x)[0]}",
        "OrderedDict(order=torch.sort(x)[1], sorted=torch.sort(x)[0])",
    ],
)
def test_results_may_be_named_tuples_and_dicts_with_more_in_them(
    spawn: Spawn, returned: str
) -> None:
    source = f"""
        from collections import OrderedDict, namedtuple
        import torch
        Pair = namedtuple("Pair", "sorted order")
        def run(x):
            return {returned}
    """
    layout = layout_of(
        [("x", (3,), "float32")], [("sorted", (3,), "float32"), ("order", (3,), "int64")]
    )
    jailed = spawn(source, layout=layout)
    jailed.input("x").copy_(torch.tensor([3.0, 1.0, 2.0]))
    assert jailed.seal().ok
    assert jailed.run().ok
    assert jailed.output("sorted").tolist() == [1.0, 2.0, 3.0]
    assert jailed.output("order").tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("returned", "status"),
    [
        ("x[:4]", Status.WRONG_SHAPE),
        ("x.reshape(2, 4)", Status.WRONG_SHAPE),
        ("x.double()", Status.WRONG_DTYPE),
        ("(x, x)", Status.WRONG_COUNT),
        ("{'other': x}", Status.WRONG_COUNT),
        ("None", Status.NOT_A_TENSOR),
        ("x.numpy()", Status.NOT_A_TENSOR),
        ("x.as_subclass(Lazy)", Status.NOT_A_TENSOR),
        ("torch.nn.Parameter(x)", Status.NOT_A_TENSOR),
        ("1 / 0", Status.CALL_RAISED),
        ("exit()", Status.CALL_RAISED),
        ("torch.empty(1 << 60)", Status.CALL_RAISED),
    ],
)
def test_a_wrong_return_becomes_a_status(spawn: Spawn, returned: str, status: Status) -> None:
    source = f"""
        import torch
        class Lazy(torch.Tensor):
            pass
        def run(x):
            return {returned}
    """
    reply = spawn(source).prepare()
    assert (reply.kind, reply.status) == ("done", status)


@pytest.mark.parametrize(
    ("source", "status", "said"),
    [
        ("def run(x:\n", Status.LOAD_FAILED, "SyntaxError"),
        ("import no_such_module\n", Status.LOAD_FAILED, "no_such_module"),
        ("raise SystemExit(0)\n", Status.LOAD_FAILED, "SystemExit"),
        ("run = 3\n", Status.ENTRY_MISSING, "defines no 'run'"),
        ("def walk(x):\n    return x\n", Status.ENTRY_MISSING, "defines no 'run'"),
    ],
)
def test_a_file_that_does_not_load_says_why(
    spawn: Spawn, source: str, status: Status, said: str
) -> None:
    jailed = spawn(source)
    reply = jailed.do(Command.LOAD)
    assert (reply.kind, reply.status) == ("done", status)
    assert said in jailed.worker.log_tail()


def test_a_solution_imports_its_own_files_but_they_stand_in_for_no_library(spawn: Spawn) -> None:
    jailed = spawn(
        """
        import torch, json, triton_like, helper
        from pkg.part import offset
        def run(x):
            return torch.add(x, helper.one + offset + triton_like.two)
        """,
        entry="src/kernel.py",
        files={
            "src/helper.py": "one = 1\n",
            "triton_like.py": "two = 2\n",
            "src/pkg/part.py": "offset = 4\n",
            "src/json.py": "raise RuntimeError('shadowed')\n",
            "src/torch.py": "raise RuntimeError('shadowed')\n",
            "sitecustomize.py": "raise RuntimeError('shadowed')\n",
        },
    )
    assert jailed.seal().ok, jailed.worker.log_tail()
    assert jailed.run().ok
    assert torch.equal(jailed.output(), jailed.input("x") + 7)


def test_an_entry_file_may_have_the_name_of_a_library(spawn: Spawn) -> None:
    jailed = spawn("import torch\ndef run(x):\n    return torch.neg(x)\n", entry="torch.py")
    assert jailed.prepare().ok, jailed.worker.log_tail()


def test_setup_is_told_the_inputs_once_and_before_the_first_call(spawn: Spawn) -> None:
    source = """
        import torch
        told = []
        def setup(inputs_spec):
            told.append(inputs_spec)
        def run(x, k, n):
            spec, = told
            assert spec["x"] == {"shape": (3, 5), "dtype": torch.float32} and spec["k"] == 2.5
            return x, n
    """
    jailed = spawn(source, layout=IN_PLACE)
    assert jailed.seal().ok, jailed.worker.log_tail()
    assert jailed.run(slot=1).ok


def test_a_slot_that_was_never_met_is_refused(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    return x\n")
    assert jailed.do(Command.LOAD).ok
    assert jailed.do(Command.RUN).status == Status.INTERNAL


def test_the_worker_computes_with_as_many_threads_as_it_is_given(spawn: Spawn) -> None:
    source = "import torch\ndef run(x):\n    return x * 0 + torch.get_num_threads()\n"
    jailed = spawn(source, limits=Limits(threads=2))
    assert jailed.prepare().ok
    assert torch.equal(jailed.output(), torch.full((8,), 2.0))


def test_claims_are_the_workers_own_nanoseconds(spawn: Spawn) -> None:
    jailed = spawn("import time\ndef run(x):\n    time.sleep(0.01)\n    return x\n")
    assert jailed.seal().ok
    assert jailed.run().ok
    assert jailed.worker.claims(1)[0] >= 10_000_000


@pytest.mark.triton
def test_triton_runs_in_its_interpreter(spawn: Spawn) -> None:
    pytest.importorskip("triton")
    source = """
        import torch, triton, triton.language as tl
        @triton.jit
        def double(x, out, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
        def run(x, out):
            double[(triton.cdiv(x.numel(), 4),)](x, out, x.numel(), BLOCK=4)
    """
    jailed = spawn(source, in_place=True, triton=True)
    assert jailed.seal().ok, jailed.worker.log_tail()
    jailed.input("x").copy_(torch.arange(8.0))
    assert jailed.run().ok, jailed.worker.log_tail()
    assert torch.equal(jailed.output(), 2 * torch.arange(8.0))


def test_a_word_that_never_comes_leaves_the_worker_as_it_is(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    return x + 1\n")
    assert jailed.seal().ok
    sequence = jailed.worker.command(Command.RUN)
    # Only the stream of a GPU writes it.
    assert jailed.worker.finished(sequence, 0.02) is None
    assert jailed.worker.wait(sequence, 10).ok
    assert jailed.run().ok
    jailed.worker.kill()
    ended = jailed.worker.finished(sequence, 0.02)
    assert ended is not None
    assert ended.kind == "died"


def test_claims_can_be_forgotten(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    return x + 1\n")
    assert jailed.seal().ok
    assert jailed.run().ok
    assert jailed.worker.claims(1)[0] > 0
    jailed.worker.forget_claims(1)
    assert jailed.worker.claims(1) == [0]
