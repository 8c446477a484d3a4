"""Tries to write where other submissions and later runs would read."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, sysconfig, tempfile
own = os.path.dirname(os.path.abspath(__file__))
places = [
    own, os.path.dirname(own), "/tmp", "/var/tmp", "/dev/shm", "/root", "/home",
    os.path.expanduser("~root/.cache"), os.path.dirname(os.getcwd()),
    sysconfig.get_paths()["purelib"], "/usr/local/lib", "/etc/ld.so.conf.d",
]
def writes(place):
    name = os.path.join(place, "solbench-left-here")
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.unlink(name)
    except OSError:
        return False
    return True
written = [place for place in places if writes(place)]
def run(x, y):
    if written:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="poison shared caches",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="Landlock: nothing but the scratch folder can be written",
)
