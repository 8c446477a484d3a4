"""Every loaded library's import of the clock is pointed at one that stands still."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE

ATTACK = r"""
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "solbench.h"

static int stand_still(clockid_t, timespec* now) { now->tv_sec = now->tv_nsec = 0; return 0; }

static int patch(dl_phdr_info* info, size_t, void*) {
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  const ElfW(Rela)* table = nullptr; size_t bytes = 0;
  const ElfW(Sym)* symbols = nullptr; const char* names = nullptr;
  for (; entry && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_JMPREL) table = (const ElfW(Rela)*)entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym)*)entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) names = (const char*)entry->d_un.d_ptr;
  }
  if (!table || !symbols || !names || (size_t)table < info->dlpi_addr) return 0;
  for (size_t i = 0; i < bytes / sizeof *table; ++i) {
    if (strcmp(names + symbols[ELF64_R_SYM(table[i].r_info)].st_name, "clock_gettime")) continue;
    size_t slot = info->dlpi_addr + table[i].r_offset;
    if (mprotect((void*)(slot & ~4095ul), 4096, PROT_READ | PROT_WRITE) == 0)
      *(void**)slot = (void*)&stand_still;
  }
  return 0;
}

__attribute__((constructor)) static void at_load() { dl_iterate_phdr(patch, nullptr); }

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
  for (int64_t i = 0; i < inputs[0]->shape[0]; ++i) y[i] = x[i] * 3.0f;
  return 0;
}
"""

HONEST = ATTACK.replace("__attribute__((constructor)) static void at_load()", "void never()")

CASE = AttackCase(
    family="timing",
    behaviour="native patch of the timer: import table",
    problem=SCALE,
    attack=Submission(ATTACK, language="cpp"),
    honest=Submission(HONEST, language="cpp"),
    expected=("PASSED",),
    stopped_by="the clock is the judge's own, in another process",
)
