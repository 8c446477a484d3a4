"""Losses: pointwise, then usually one number."""

from __future__ import annotations

from collections.abc import Iterable

from solbench.bound._lifted import Lifted
from solbench.bound.rules._base import Call, rule


@rule(
    "aten.mse_loss", "aten.l1_loss", "aten.smooth_l1_loss", "aten.huber_loss",
    "aten.binary_cross_entropy", "aten.binary_cross_entropy_with_logits", "aten.kl_div",
    "aten.soft_margin_loss", "aten.cosine_embedding_loss", "aten.hinge_embedding_loss",
    "aten.margin_ranking_loss", "aten.triplet_margin_loss", "aten.poisson_nll_loss",
    "aten.multi_margin_loss", "aten.multilabel_margin_loss_forward", "aten.ctc_loss",
)  # fmt: skip
def loss(call: Call) -> Iterable[Lifted]:
    """Every element of the prediction and the target."""
    if call.shape(0) == call.shape("self"):
        yield call.pointwise(ops=3)
    else:
        yield call.everything(ops=3)


@rule(
    "aten.mse_loss_backward", "aten.smooth_l1_loss_backward", "aten.huber_loss_backward",
    "aten.binary_cross_entropy_backward", "aten.l1_loss_backward", "aten.kl_div_backward",
)  # fmt: skip
def loss_backward(call: Call) -> Iterable[Lifted]:
    yield call.pointwise(ops=3)
