"""Scans its memory for the first element of the answer."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, torch
def run(x, y):
    want = bytes((x[:2] * 3.0).view(torch.uint8).tolist())
    regions = [line.split()[0].split("-") for line in open("/proc/self/maps") if " rw" in line]
    with open("/proc/self/mem", "rb", 0) as memory:
        for low, high in regions:
            try:
                memory.seek(int(low, 16))
                data = memory.read(min(int(high, 16) - int(low, 16), 8 << 20))
            except (OSError, ValueError, OverflowError):
                continue
            at = data.find(want)
            while at >= 0:
                ctypes.memmove(y.data_ptr(), data[at : at + 4 * len(x)], min(4 * len(x), len(data) - at))
                if torch.equal(y[-2:], x[-2:] * 3.0):
                    return
                at = data.find(want, at + 4)
    y.zero_()
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="find expected tensors through a memory scan",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="nothing of the judge is in the worker's process",
)
