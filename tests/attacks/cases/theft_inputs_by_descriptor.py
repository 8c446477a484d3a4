"""Writes into the inputs' files, past the private mapping."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import mmap, os
def overwrite(fd):
    size = os.fstat(fd).st_size
    for attempt in (
        lambda: os.pwrite(fd, bytes(size), 0),
        lambda: mmap.mmap(fd, size).write(bytes(size)),
        lambda: os.posix_fallocate(fd, 0, size),
        lambda: os.ftruncate(fd, 0),
        lambda: os.pwrite(os.open(f"/proc/self/fd/{fd}", os.O_RDWR), bytes(size), 0),
    ):
        try:
            attempt()
        except OSError:
            pass
def run(x, y):
    for name in range(3, 200):
        try:
            if "inputs" in os.readlink(f"/proc/self/fd/{name}"):
                overwrite(int(name))
        except OSError:
            pass
    y.zero_()
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="mutate the inputs through their descriptor",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="inputs are sealed and mapped privately; the judge keeps its own",
)
