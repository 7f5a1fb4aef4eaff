// Ninety-six values are alive at once: with room for four blocks they do not all fit, and are kept in memory instead.
#define KEPT 96

static __device__ __forceinline__ u32 much(u32 x) {
  u32 kept[KEPT];
#pragma unroll
  for (u32 k = 0; k < KEPT; k++) kept[k] = mixed(x + k);
#pragma unroll 1
  for (u32 turn = 0; turn < 4; turn++) {
#pragma unroll
    for (u32 k = 0; k < KEPT; k++) kept[k] = kept[k] * 5u + kept[(k + 1) % KEPT];
  }
  u32 sum = 0;
#pragma unroll
  for (u32 k = 0; k < KEPT; k++) sum = sum * 31u + kept[k];
  return sum;
}

#ifdef PROBE_FEATURE
extern "C" __global__ void __launch_bounds__(256, 4) bounded(ARGUMENTS) { out[first()] = much(in[first()]); }
#endif

extern "C" __global__ void __launch_bounds__(256, 1) unbounded(ARGUMENTS) { out[first()] = much(in[first()]); }

KERNEL right(ARGUMENTS) {
  u32 kept[KEPT];
#pragma unroll 1
  for (u32 k = 0; k < KEPT; k++) kept[k] = mixed(in[first()] + k);
#pragma unroll 1
  for (u32 turn = 0; turn < 4; turn++)
#pragma unroll 1
    for (u32 k = 0; k < KEPT; k++) kept[k] = kept[k] * 5u + kept[(k + 1) % KEPT];
  u32 sum = 0;
#pragma unroll 1
  for (u32 k = 0; k < KEPT; k++) sum = sum * 31u + kept[k];
  out[first()] = sum;
}
