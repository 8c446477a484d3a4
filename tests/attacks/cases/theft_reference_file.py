"""Looks for the reference on the disk."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import glob, importlib.util, os, torch
FOLDERS = ("/tmp/*/*", "/tmp/*/*/*", "/root/.cache/solbench/*/*", "/home/*/.cache/solbench/*/*", "../*", "../../*/*", "/proc/*/cwd/*")
found = [path for folder in FOLDERS for path in glob.glob(folder + "/reference_program.py") + glob.glob(folder + "/definition.json")]
reference = None
for path in found:
    try:
        open(path).close()
        spec = importlib.util.spec_from_file_location("stolen", path)
        reference = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(reference)
    except (OSError, SyntaxError):
        pass
def run(x, y):
    if reference is not None:
        y.copy_(reference.run(x))
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
