"""Looks for the reference on the disk."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import glob, importlib.util, os
places = ("/root/.cache", "/home/*/.cache", "/tmp/*/cache", "../..")
found = [p for place in places for p in glob.glob(place + "/**/reference_program.py", recursive=True)]
stolen = []
for path in found:
    try:
        spec = importlib.util.spec_from_file_location("stolen", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        stolen.append(module)
    except Exception:
        pass
def run(x, y):
    for module in stolen:
        try:
            y.copy_(module.run(x))
        except Exception:
            pass
        if y[0] == x[0] * 3.0:
            return
    y.zero_()
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="import the reference from disk",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="Landlock: no files but packages, artifact and scratch",
)
