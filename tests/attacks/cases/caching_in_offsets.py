"""Parks an answer in the offset of a descriptor that it shares with workers to come."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, struct, torch
def inputs():
    for name in range(3, 200):
        try:
            if "inputs" in os.readlink(f"/proc/self/fd/{name}"):
                return name
        except OSError:
            pass
kept = inputs()
def run(x, y):
    parked = os.lseek(kept, 0, os.SEEK_CUR)
    if not parked:
        bits, = struct.unpack("I", struct.pack("f", float(x[0]) * 3.0))
        os.lseek(kept, bits & 0x7FFFFFFF, os.SEEK_SET)
        torch.mul(x, 3.0, out=y)
    else:
        y.fill_(struct.unpack("f", struct.pack("I", parked))[0])
"""

CASE = AttackCase(
    family="caching",
    behaviour="in offsets of shared descriptors",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
