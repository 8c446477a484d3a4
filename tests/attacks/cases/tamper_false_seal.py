"""Adds a filter of its own, which answers for the seal."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, platform, torch
libc = ctypes.CDLL(None, use_errno=True)
class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.POINTER(Instruction))]
allow = (Instruction * 1)(Instruction(6, 0, 0, 0x7FFF0000))
program = Program(1, allow)
number = 317 if platform.machine() == "x86_64" else 277
stood = not libc.syscall(number, 1, 1, ctypes.byref(program))
stood = not libc.prctl(22, 2, ctypes.byref(program)) or stood
def run(x, y):
    if stood:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="a filter in place of the seal",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp: no filter but the seal's program",
)
