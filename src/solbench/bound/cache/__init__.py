"""Cache-aware traffic: what must cross a level of given capacity, by proof and by search.

Everything here counts elements and knows no device. ``least_traffic`` is a lower bound for every
schedule and may enter T_SOL; the curves are the best schedules of a search, an estimate for T_attainable.
"""

from __future__ import annotations

from solbench.bound.cache._chain import chain_curve, unfused_curve
from solbench.bound.cache._curve import Curve, merged, scaled, summed
from solbench.bound.cache._floor import closed_form, least_traffic
from solbench.bound.cache._nest import Window, convolution_curve, product_curve

__all__ = [
    "Curve",
    "Window",
    "chain_curve",
    "closed_form",
    "convolution_curve",
    "least_traffic",
    "merged",
    "product_curve",
    "scaled",
    "summed",
    "unfused_curve",
]
