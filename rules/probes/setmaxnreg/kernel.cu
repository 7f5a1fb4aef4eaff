// Three warp groups of one block, with 168 registers a thread when they start: the first gives away all but 40, so that
// the other two have 232.
#define KEPT 64

extern "C" __global__ void __launch_bounds__(384, 1) groups(ARGUMENTS) {
  const u32 i = first();
  const u32 x = in[i];
  if (threadIdx.x < 128) {
#ifdef PROBE_FEATURE
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#endif
    u32 sum = 0;
    for (u32 k = 0; k < KEPT; k++) sum += mixed(x + k) * (2u * k + 1u);
    out[i] = sum;
  } else {
#ifdef PROBE_FEATURE
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#endif
    u32 kept[KEPT];
#pragma unroll
    for (u32 k = 0; k < KEPT; k++) kept[k] = mixed(x + k);
    __syncwarp();
    u32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < KEPT; k++) sum += kept[KEPT - 1 - k] * (2u * (KEPT - 1 - k) + 1u);
    out[i] = sum;
  }
}

KERNEL right(ARGUMENTS) {
  const u32 i = first();
  u32 sum = 0;
#pragma unroll 1
  for (u32 k = 0; k < KEPT; k++) sum += mixed(in[i] + k) * (2u * k + 1u);
  out[i] = sum;
}
