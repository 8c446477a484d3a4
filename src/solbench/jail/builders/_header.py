"""The header that C and C++ solutions may include: DLPack's ABI, in our own words."""

from __future__ import annotations

HEADER_NAME = "solbench.h"

HEADER = """\
/* Tensors of a SolBench call. The layout is DLPack's; include this or <dlpack/dlpack.h>.
 *
 * The entry point, with C linkage:
 *   int run(const DLTensor* const* inputs, DLTensor* const* outputs,
 *           const double* scalars, void* stream);
 * inputs and outputs in the order of the definition, tensors only; scalars in their order.
 * Tensors are contiguous. stream is a cudaStream_t, or null on a CPU. Non-zero: failure.
 *
 * Optional, with the same signature and linkage: setup. It is called once for each workload before
 * inputs exist, and is never timed; the data pointers of its tensors are null.
 */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;

typedef enum {
  kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6,
  kDLFloat8_e4m3fn = 10, kDLFloat8_e5m2 = 12, kDLFloat4_e2m1fn = 17
} DLDataTypeCode;

typedef struct { int32_t device_type; int32_t device_id; } DLDevice;

typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;      /* in elements */
  uint64_t byte_offset;  /* always 0 here */
} DLTensor;

#ifdef __cplusplus
}
#endif
#endif
"""
