"""Makes threads stand in line whenever a call was slow, so that its sample is dropped."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import threading, time, torch
crowd = threading.Event()
def queue():
    while True:
        crowd.wait()
        end = time.perf_counter() + 0.003
        while time.perf_counter() < end:
            pass
        crowd.clear()
for _ in range(3):
    threading.Thread(target=queue, daemon=True).start()
times = []
def run(x, w, y):
    began = time.perf_counter()
    torch.mm(torch.tanh(x @ w), w, out=y)
    times.append(time.perf_counter() - began)
    if times[-1] > sorted(times)[len(times) // 4]:
        crowd.set()
        time.sleep(0.002)
"""

CASE = AttackCase(
    family="timing",
    behaviour="choose which samples count",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="bounded: never below the fastest honest sample; more than half dropped is flagged",
    kind="probabilistic",
)
