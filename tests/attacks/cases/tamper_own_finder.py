"""Puts an import hook in the way of what the shim imports later."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        sys.stderr.write(name)
        return None
sys.meta_path.insert(0, Finder())
for name in [n for n in sys.modules if n.startswith("solbench")]:
    sys.modules[name] = None
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="patch sys.modules and the import system",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR"),
    stopped_by="nothing of the judge is in the worker's process",
)
