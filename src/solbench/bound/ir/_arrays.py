"""Index sets, masks and regions as plain data for YAML, and back.

Short arrays are lists; long ones are compressed, with their type and shape beside them. Equal objects become
one anchor: a causal mask that every layer has stands in a file once.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solbench.bound._bands import Bands
from solbench.bound._boxes import Box, Joint
from solbench.bound._lifted import Pin
from solbench.bound._region import Region
from solbench.bound._reps import CONST, Rep
from solbench.bound._sets import IndexSet
from solbench.errors import InputError

LIST_ELEMENTS = 24
"""Longest array that is written as a list."""


class Encoder:
    """Objects → plain data; equal arrays and boxes give one object, so that YAML writes it once."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def _once(self, made: Any) -> Any:
        return self._made.setdefault(repr(made), made)

    def array(self, array: NDArray[Any]) -> Any:
        """A list, or ``{dtype, shape, zlib}``; booleans are packed to bits first."""
        if array.size <= LIST_ELEMENTS:
            return array.astype(int).tolist()
        boolean = array.dtype == np.bool_
        raw = np.packbits(array) if boolean else array.astype("<i8")
        text = base64.b64encode(zlib.compress(np.ascontiguousarray(raw).tobytes(), 9)).decode()
        kind = "bool" if boolean else "int64"
        return self._once({"dtype": kind, "shape": list(array.shape), "zlib": text})

    def index_set(self, indices: IndexSet) -> Any:
        """``start:stop`` or ``start:stop:step`` for a range, else an array."""
        if not isinstance(indices, range):
            return self.array(indices)
        step = "" if indices.step == 1 else f":{indices.step}"
        return f"{indices.start}:{indices.stop}{step}"

    def box(self, box: Box) -> Any:
        made: dict[str, Any] = {"sets": [self.index_set(s) for s in box.sets]}
        if box.joints:
            made["joints"] = [self._joint(j) for j in box.joints]
        return self._once(made)

    def _joint(self, joint: Joint) -> Any:
        if isinstance(joint.mask, Bands):
            bands = joint.mask
            rows = {"low": self.array(bands.low), "high": self.array(bands.high)}
            return {"dims": list(joint.dims), "bands": {**rows, "width": bands.width}}
        return {"dims": list(joint.dims), "mask": self.array(joint.mask)}

    def region(self, region: Region) -> Any:
        return {"shape": list(region.shape), "boxes": [self.box(b) for b in region.boxes]}

    def pin(self, pin: Pin) -> Any:
        value = pin.value if math.isfinite(pin.value) else str(pin.value)
        return {"value": value, "free": None if pin.free is None else self.box(pin.free)}

    def rep(self, rep: Rep) -> Any:
        return rep if rep is None or isinstance(rep, str) else self.array(rep)


def read_array(data: Any, *, boolean: bool = False) -> NDArray[Any]:
    """The array that :meth:`Encoder.array` wrote."""
    if isinstance(data, list):
        return np.array(data, dtype=np.bool_ if boolean else np.int64)
    if not isinstance(data, dict) or set(data) != {"dtype", "shape", "zlib"}:
        raise InputError("an array is a list, or has dtype, shape and zlib", key="array")
    shape = tuple(int(n) for n in data["shape"])
    count = math.prod(shape)
    try:
        raw = zlib.decompress(base64.b64decode(data["zlib"]))
    except (ValueError, zlib.error) as error:
        raise InputError(f"an array cannot be unpacked: {error}", key="zlib") from None
    if data["dtype"] == "bool":
        bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8), count=count)
        return bits.astype(np.bool_).reshape(shape)
    return np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(shape)


def read_index_set(data: Any) -> IndexSet:
    if not isinstance(data, str):
        return read_array(data)
    parts = [int(part) for part in data.split(":")]
    return range(*parts)


def read_box(data: Any) -> Box:
    joints = tuple(_read_joint(each) for each in data.get("joints", ()))
    return Box(tuple(read_index_set(each) for each in data["sets"]), joints)


def _read_joint(data: Any) -> Joint:
    dims = tuple(int(d) for d in data["dims"])
    if "bands" in data:
        rows = data["bands"]
        low, high = read_array(rows["low"]), read_array(rows["high"])
        return Joint(dims, Bands(low, high, int(rows["width"])))
    return Joint(dims, read_array(data["mask"], boolean=True))


def read_region(data: Any) -> Region:
    shape = tuple(int(n) for n in data["shape"])
    return Region(shape, tuple(read_box(each) for each in data["boxes"]))


def read_pin(data: Any) -> Pin:
    free = data["free"]
    return Pin(float(data["value"]), None if free is None else read_box(free))


def read_rep(data: Any) -> Rep:
    if data is None:
        return None
    return CONST if data == CONST else read_array(data)
