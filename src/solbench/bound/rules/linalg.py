"""Decompositions and solvers: every element of a matrix matters to every element of its result.

Their arithmetic is no plain contraction (and depends on the algorithm): it counts as vector work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from solbench.bound import _access, _pins
from solbench.bound._access import Along, Axes, Fixed, Whole
from solbench.bound._lifted import Lifted, Map
from solbench.bound._region import Shape
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, rule
from solbench.bound.rules.elementwise import triangle_box

TRIANGLES = {
    "cholesky": "self", "linalg_cholesky_ex": "self", "cholesky_inverse": "self",
    "cholesky_solve": "input2", "linalg_solve_triangular": "self", "triangular_solve": "A",
    "_linalg_eigh": "A",
}  # fmt: skip
"""Operation → argument of which it reads one triangle."""


@rule(
    "aten.linalg_inv_ex", "aten.linalg_cholesky_ex", "aten._linalg_det", "aten._linalg_slogdet",
    "aten._linalg_solve_ex", "aten.linalg_solve_triangular", "aten.linalg_lu_factor_ex",
    "aten.linalg_lu", "aten.linalg_lu_solve", "aten.linalg_qr", "aten._linalg_svd",
    "aten._linalg_eigh", "aten.linalg_eig", "aten.linalg_matrix_exp", "aten.linalg_lstsq",
    "aten.linalg_ldl_factor_ex", "aten.linalg_ldl_solve", "aten.linalg_householder_product",
    "aten.linalg_pinv.atol_rtol_tensor", "aten.cholesky", "aten.cholesky_inverse",
    "aten.cholesky_solve", "aten.triangular_solve", "aten.lu_unpack", "aten.geqrf", "aten.ormqr",
    "aten._linalg_eigvals", "aten.linalg_eigvals",
)  # fmt: skip
def matrix_function(call: Call) -> Iterable[Lifted]:
    """Matrix by matrix over the leading dimensions."""
    operation = call.node.op.split(".")[1]
    names: list[str | Ref | int] = list(call.tensors())
    lead = min(len(call.shape(n)) for n in names) - 2
    half = TRIANGLES.get(operation)
    if half is not None and half in names and lead >= 0:
        read = _triangle(call, half)
        yield read
        names[names.index(half)] = read.outs[0]
    for number, out in enumerate(call.node.results()):
        made = _by_matrix(call, out, names, lead)
        factor = operation in ("cholesky", "linalg_cholesky_ex") and number == 0
        if factor and len(call.values[out].shape) >= 2:
            lower = not call.args.get("upper", False)
            zeros = _pins.of_box(0.0, triangle_box(call.values[out].shape, 0, lower=lower))
            made = replace(made, pin=zeros)
        yield made


def _triangle(call: Call, argument: str) -> Map:
    """The triangle of a matrix that an operation reads."""
    shape = call.shape(argument)
    lower = not call.args.get("upper", call.node.op.split(".")[1] == "triangular_solve")
    if "UPLO" in call.args:
        lower = str(call.args["UPLO"]).upper() == "L"
    beside = bool(call.args.get("unitriangular", False))  # its diagonal is taken to be 1
    box = triangle_box(shape, (-1 if lower else 1) if beside else 0, lower=lower)
    axes = _access.identity(len(shape))
    operands = () if box is None else (call.operand(argument, axes, within=box),)
    out = call.temporary(shape, call.value(argument).dtype)
    return Map((out,), (axes,), shape, operands, ops=0)


def _by_matrix(call: Call, out: int, names: Sequence[str | Ref | int], lead: int) -> Map:
    ranks = call.values[out].shape
    if lead < 0 or len(ranks) < lead:
        return call.everything(outs=(out,), ops=max(ranks, default=1))
    operands = tuple(call.operand(n, _matrix_axes(call.value(n).shape, ranks, lead)) for n in names)
    return Map(
        (out,), (_access.identity(len(ranks)),), ranks, operands, flavour="computed",
        coupled=frozenset(range(lead, len(ranks))), ops=max(ranks, default=1),
    )  # fmt: skip


def _matrix_axes(shape: Shape, ranks: Shape, lead: int) -> Axes:
    """Leading dimensions one by one, what follows whole."""
    own = tuple(
        Along(d) if n == ranks[d] else (Fixed() if n == 1 else Whole())
        for d, n in enumerate(shape[:lead])
    )
    return (*own, *(Whole() for _ in shape[lead:]))


@rule("aten._cdist_forward", "aten._euclidean_dist", "aten.cdist")
def distances(call: Call) -> Iterable[Lifted]:
    """All pairs of rows. The usual route for p = 2 goes through a product; it is not the only one."""
    ranks = (*call.shape(0), call.shape("x1")[-1])
    count = len(ranks)
    first = _access.broadcast(call.shape("x1")[:-2], ranks[:-3])
    second = _access.broadcast(call.shape("x2")[:-2], ranks[:-3])
    operands = (
        call.operand("x1", (*first, Along(count - 3), Along(count - 1))),
        call.operand("x2", (*second, Along(count - 2), Along(count - 1))),
    )
    yield Map(
        call.outputs[:1], (_access.identity(count - 1),), ranks, operands, flavour="computed", ops=3
    )


@rule("aten._pdist_forward", "aten.histogram", "aten._histogramdd_from_bin_cts", "aten.renorm",
      "aten._histogramdd_bin_edges", "aten.segment_reduce", "aten._ctc_loss")  # fmt: skip
def over_everything(call: Call) -> Iterable[Lifted]:
    for out in call.node.results():
        yield call.everything(outs=(out,))
