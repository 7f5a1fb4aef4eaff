#define TURNS 64

static __device__ __forceinline__ u32 sum_of_warp(u32 x) {
#ifdef PROBE_FEATURE
  u32 sum;
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(x));
  return sum;
#else
  for (u32 lane = 16; lane; lane >>= 1) x += __shfl_xor_sync(0xffffffffu, x, lane);
  return x;
#endif
}

KERNEL reduced(ARGUMENTS) {
  const u32 i = first();
  u32 x = in[i], found = 0;
  for (u32 k = 0; k < TURNS; k++) {
    found = found * 31u + sum_of_warp(x);
    x = x * 5u + k;
  }
  out[i] = found;
}

// Sums commute with the change from turn to turn: no lane needs another.
KERNEL right(ARGUMENTS) {
  const u32 i = first();
  u32 sum = 0, found = 0;
  for (u32 lane = 0; lane < 32; lane++) sum += in[(i & ~31u) + lane];
  for (u32 k = 0; k < TURNS; k++) {
    found = found * 31u + sum;
    sum = sum * 5u + 32u * k;
  }
  out[i] = found;
}
