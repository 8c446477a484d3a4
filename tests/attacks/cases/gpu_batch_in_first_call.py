"""The first queued call computes all slots at once; the others enqueue nothing."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import CHAIN, CHAIN_HONEST, SLOTS

ATTACK = (
    SLOTS
    + """
space = []
def compute(pairs):
    # Taken once: to ask for memory later would wait for the device.
    if not space:
        space.append(torch.empty(128, *pairs[0][0].shape, device="cuda"))
    rows = space[0][: len(pairs)]
    # Row by row: a kernel that is met only now would be loaded, which waits for the device.
    for row, (x, _) in zip(rows, pairs):
        row.copy_(x)
    for _ in range(10):
        rows.sin_().mul_(1.5)
    for row, (_, y) in zip(rows, pairs):
        y.copy_(row)

def run(x, y):
    turn, first, count = fields[0], fields[3], fields[4]
    if count == 1:
        slots[first] = (own(x), own(y))
        compute([slots[first]])
    elif turn != last[0]:
        last[0] = turn
        compute([slots[slot] for slot in range(first, first + count)])
"""
)

CASE = AttackCase(
    family="timing",
    behaviour="do all N queued inputs in the first call",
    problem=CHAIN,
    attack=Submission(ATTACK),
    honest=Submission(CHAIN_HONEST),
    expected=("PASSED", "RUNTIME_ERROR"),
    stopped_by="a call alone takes as long as it takes: calls that share work are ranked by it",
    device="cuda",
)
