"""Code that is not in the sources as it runs."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile
from solbench.judge.guard._registry import Hit, python_rule

_MAKES_CODE = frozenset(
    {"exec", "eval", "compile", "builtins.exec", "builtins.eval", "builtins.compile",
     "marshal.loads", "marshal.load", "types.FunctionType", "types.CodeType", "runpy.run_path",
     "runpy.run_module", "code.InteractiveInterpreter", "pickle.loads", "pickle.load"}
)  # fmt: skip
_DECODES = frozenset(
    {"base64.b64decode", "base64.b85decode", "base64.a85decode", "base64.b32decode",
     "base64.b16decode", "base64.decodebytes", "binascii.unhexlify", "binascii.a2b_base64",
     "zlib.decompress", "bz2.decompress", "lzma.decompress", "gzip.decompress", "codecs.decode",
     "bytes.fromhex", "bytearray.fromhex"}
)  # fmt: skip
_NAMES_A_PLACE = frozenset(
    {"getattr", "setattr", "delattr", "hasattr", "__import__", "importlib.import_module"}
)
_PACKED = re.compile(r"[A-Za-z0-9+/=_-]{256,}")
_LEAST_PACKED_CHARACTERS = 256
_PACKED_BITS = 4.2
"""Bits a character: text that base64 made of anything compact lies above, prose and code below."""
_INNER = frozenset(
    {"__code__", "__globals__", "__closure__", "__subclasses__", "__builtins__", "__bases__",
     "__mro__", "f_locals", "f_globals", "f_back", "f_code", "tb_frame", "gi_frame", "cr_frame"}
)  # fmt: skip
_NAMESPACES = frozenset({"globals", "locals", "vars"})


@python_rule("dynamic_code", "alarm")
def dynamic_code(file: PythonFile) -> Iterator[Hit]:
    """Code made at run time: exec, eval, compile, marshal, pickled objects."""
    for call, name in file.calls:
        if name in _MAKES_CODE:
            yield call.lineno, f"{name}() makes code at run time"


@python_rule("assembled_name")
def assembled_name(file: PythonFile) -> Iterator[Hit]:
    """An attribute or module is looked up by a name that is put together."""
    for call, name in file.calls:
        places = call.args[:1] if "import" in name else call.args[1:2]
        if name in _NAMES_A_PLACE and any(_is_assembled(each) for each in places):
            yield call.lineno, f"{name}() with a name that is put together"
    for node in file.nodes:
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Call)
            and file.name(node.value.func) in _NAMESPACES
            and not isinstance(node.slice, ast.Constant)
        ):
            yield node.lineno, "a name is looked up in a namespace by a computed key"


def _is_assembled(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp | ast.JoinedStr):
        return True
    if isinstance(node, ast.Subscript):  # "tcexe"[::-1]
        return isinstance(node.slice, ast.Slice)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("join", "decode", "replace", "format", "translate")
    )


@python_rule("hidden_payload")
def hidden_payload(file: PythonFile) -> Iterator[Hit]:
    """Data that is decoded or decompressed, a program in a literal, or a literal of high entropy."""
    for call, name in file.calls:
        if name in _DECODES:
            yield call.lineno, f"{name}() unpacks what a reader cannot read"
    for line, text in file.strings:
        if text.startswith(("\x7fELF", "f0VMRg", "7f454c46")):
            yield line, "a literal holds an ELF program"
        elif _is_packed(text):
            yield line, f"a literal of {len(text)} characters looks packed"


def _is_packed(text: str) -> bool:
    bits = entropy_bits(text)
    if _PACKED.search(text) and bits > _PACKED_BITS:
        return True
    binary = sum(not each.isprintable() and each not in "\n\r\t" for each in text)
    return len(text) >= _LEAST_PACKED_CHARACTERS and binary > len(text) // 4


def entropy_bits(text: str) -> float:
    """Shannon entropy of the characters' frequencies, in bits a character; 0 for nothing."""
    total = len(text)
    counts = Counter(text).values()
    return -sum(count / total * math.log2(count / total) for count in counts) if total else 0.0


@python_rule("internals")
def internals(file: PythonFile) -> Iterator[Hit]:
    """Insides of functions, classes and frames: __code__, __globals__, __subclasses__, f_locals."""
    for node, _ in file.attributes:
        if node.attr in _INNER:
            yield node.lineno, f".{node.attr} opens what is not meant to be opened"
    for name in file.nodes:
        if isinstance(name, ast.Name) and name.id in ("__builtins__", "__loader__"):
            yield name.lineno, f"{name.id} is used"
