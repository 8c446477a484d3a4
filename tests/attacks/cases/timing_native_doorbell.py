"""A native thread answers the doorbell instead of the shim, whose cost the judge subtracts."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE

ATTACK = """
import ctypes, gc, os, subprocess, torch

SOURCE = r'''
#include <stdint.h>
typedef struct { const float* x; float* y; int64_t n; } Slot;
extern "C" void serve(volatile int64_t* page, Slot* slots, int64_t last) {
  for (;;) {
    while (page[0] == last) ;
    last = page[0];
    if (page[1] != 5) return;
    int64_t first = page[3], count = page[4];
    for (int64_t s = first; s < first + count; ++s)
      for (int64_t i = 0; i < slots[s].n; ++i) slots[s].y[i] = slots[s].x[i] * 3.0f;
    page[9] = 0;
    page[8] = last;
  }
}
'''

class Slot(ctypes.Structure):
    _fields_ = [("x", ctypes.c_void_p), ("y", ctypes.c_void_p), ("n", ctypes.c_int64)]

def find(name):
    for thing in gc.get_objects():
        if type(thing).__name__ == name:
            return thing

library, slots, page_address, calls = None, (Slot * 16)(), 0, [0]

def setup(spec):
    global library, page_address
    open("serve.cpp", "w").write(SOURCE)
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "serve.cpp", "-o", "serve.so"], check=True)
    library = ctypes.CDLL(os.path.abspath("serve.so"))
    page_address = ctypes.addressof(ctypes.c_char.from_buffer(find("Page").fields.obj))
    device, page = find("CpuDevice"), find("Page")
    plain = page.next_command
    def next_command(last, looks):
        if looks > 1_000_000 and len(device._addresses) >= 1:  # armed
            for (layout, slot), (inputs, outputs) in device._addresses.items():
                got = device._calls[layout, slot].__closure__
                (pair,) = [c.cell_contents for c in got if type(c.cell_contents) is tuple]
                slots[slot] = Slot(pair[0].data_ptr(), pair[1].data_ptr(), pair[0].numel())
            library.serve(ctypes.c_void_p(page_address), slots, ctypes.c_int64(last))
        return plain(page.fields[8], looks)
    page.__class__.next_command = lambda self, last, looks: next_command(last, looks)

def run(x, y):
    torch.mul(x, 3.0, out=y)
"""

HONEST = """
#include "solbench.h"
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
  for (int64_t i = 0; i < inputs[0]->shape[0]; ++i) y[i] = x[i] * 3.0f;
  return 0;
}
"""

CASE = AttackCase(
    family="timing",
    behaviour="native patch of the shim: answer the doorbell without the cost that is subtracted",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(HONEST, language="cpp"),
    expected=("PASSED",),
    stopped_by="times near the timer's floor are not verified",
)
