"""One graph holds the work of a whole sequence and is replayed by its first call."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import CHAIN, CHAIN_HONEST, SLOTS

ATTACK = (
    SLOTS
    + """
graphs = {}
def compute(pairs):
    rows = torch.stack([x for x, _ in pairs])
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
        pairs = [slots[slot] for slot in range(first, first + count)]
        if (first, count) not in graphs:
            graphs[first, count] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graphs[first, count], capture_error_mode="relaxed"):
                compute(pairs)
        graphs[first, count].replay()
"""
)

CASE = AttackCase(
    family="timing",
    behaviour="one graph for the whole sequence",
    problem=CHAIN,
    attack=Submission(ATTACK),
    honest=Submission(CHAIN_HONEST),
    expected=("PASSED", "RUNTIME_ERROR", "INCORRECT_NUMERICAL", "TIMEOUT"),
    stopped_by="a call alone takes as long as it takes: calls that share work are ranked by it",
    device="cuda",
)
