"""Compiles C++ in setup and calls it through ctypes."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import ctypes, subprocess
SOURCE = '''extern "C" void triple(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = x[i] * 3.0f;
}'''
triple = []
def setup(inputs_spec):
    open("triple.cpp", "w").write(SOURCE)
    subprocess.run(["g++", "-O3", "-shared", "-fPIC", "triple.cpp", "-o", "triple.so"], check=True)
    triple.append(ctypes.CDLL("./triple.so").triple)
def run(x, y):
    triple[0](ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(len(x)))
"""

CASE = HonestCase(
    looks_like="native code that is loaded at run time",
    problem=SCALE,
    solution=Submission(SOURCE),
    needs="g++",
)
