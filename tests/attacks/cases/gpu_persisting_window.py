"""Sets part of the cache aside for its buffers, so that the flush would miss them."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import KERNEL, RUN, SCALE, SCALE_CUDA

BODY = r"""
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 16 << 20);
  cudaStreamAttrValue window = {};
  window.accessPolicyWindow.base_ptr = (void*)x;
  window.accessPolicyWindow.num_bytes = n * sizeof(float);
  window.accessPolicyWindow.hitRatio = 1.0f;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute((cudaStream_t)stream, cudaStreamAttributeAccessPolicyWindow, &window);
  scale<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x, y, n);
"""

CASE = AttackCase(
    family="timing",
    behaviour="persisting L2 windows so that the flush misses",
    problem=SCALE,
    attack=Submission(KERNEL + RUN.replace("BODY", BODY), language="cuda_cpp"),
    honest=Submission(SCALE_CUDA, language="cuda_cpp"),
    expected=("PASSED",),
    stopped_by="persisting lines are reset, and each call meets a slot of its own, written anew",
    device="cuda",
    needs="nvcc",
)
