"""The plan on its way from judge to worker: JSON, standard library only."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from solbench.jail._types import DeviceMemory, Limits, WorkerPlan
from solbench.jail.protocol import Artifact, Layout, ScalarField, TensorField


def encode_plan(plan: WorkerPlan) -> bytes:
    return json.dumps(dataclasses.asdict(plan)).encode()


def decode_plan(data: bytes) -> WorkerPlan:
    raw = json.loads(data)
    return WorkerPlan(
        artifact=Artifact(**raw["artifact"]),
        layouts=tuple(_layout(layout) for layout in raw["layouts"]),
        device=raw["device"],
        limits=Limits(**raw["limits"]),
        device_memory=tuple(DeviceMemory(**memory) for memory in raw["device_memory"]),
    )


def _layout(raw: dict[str, Any]) -> Layout:
    arguments = tuple(
        ScalarField(**field) if "value" in field else _tensor(field) for field in raw["arguments"]
    )
    outputs = tuple(_tensor(field) for field in raw["outputs"])
    return Layout(
        **{**raw, "arguments": arguments, "outputs": outputs, "mutates": tuple(raw["mutates"])}
    )


def _tensor(raw: dict[str, Any]) -> TensorField:
    return TensorField(**{**raw, "shape": tuple(raw["shape"])})
