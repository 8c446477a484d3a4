"""Gives large pages to pipes, a byte of each: the pages stay, and are nobody's memory."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, os, torch
libc = ctypes.CDLL(None)
page = ctypes.create_string_buffer(8192)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
piece = Piece(ctypes.addressof(page), 1)
given = libc.vmsplice(os.pipe()[1], ctypes.byref(piece), 1, 0)
def run(x, y):
    if given == 1:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="hoarding memory: in pipes",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp: no pages given to pipes",
)
