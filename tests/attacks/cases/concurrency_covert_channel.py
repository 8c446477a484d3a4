"""Tries every way to leave something where a process outside could read it."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def abstract():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as outside:
        outside.bind(b"\\0left-here")
def pipe():
    os.mkfifo("/tmp/left-here")
    os.unlink("/tmp/left-here")
def file():
    os.close(os.open("/dev/shm/left-here", os.O_CREAT | os.O_RDWR))
    os.unlink("/dev/shm/left-here")
def segment():
    number = libc.shmget(0x5EED, 4096, 0o1600)
    if number < 0:
        raise OSError
    libc.shmctl(number, 0, None)
def queue():
    if libc.syscall(240, b"left-here", 0o100, 0o600, None) < 0:
        raise OSError
    libc.syscall(241, b"left-here")
def works(attempt):
    try:
        attempt()
    except OSError:
        return False
    return True
ways = [attempt for attempt in (abstract, pipe, file, segment, queue) if works(attempt)]
def run(x, y):
    if ways:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="covert channels out of the jail",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp: no shared memory or sockets; Landlock: no files",
)
