#define TURNS 64

static __device__ __forceinline__ float largest_of_warp(float x) {
#ifdef PROBE_FEATURE
  float found;
  asm volatile("redux.sync.max.f32 %0, %1, 0xffffffff;" : "=f"(found) : "f"(x));
  return found;
#else
  for (u32 lane = 16; lane; lane >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lane));
  return x;
#endif
}

KERNEL reduced(ARGUMENTS) {
  const u32 i = first();
  u32 x = in[i], found = 0;
  for (u32 k = 0; k < TURNS; k++) {
    found = found * 31u + __float_as_uint(largest_of_warp(any_float(x)));
    x = x * 5u + k;
  }
  out[i] = found;
}

KERNEL right(ARGUMENTS) {
  const u32 i = first();
  u32 found = 0;
  for (u32 k = 0; k < TURNS; k++) {
    float largest = -1e30f;
#pragma unroll 1
    for (u32 lane = 0; lane < 32; lane++) {
      u32 x = in[(i & ~31u) + lane];
      for (u32 j = 0; j < k; j++) x = x * 5u + j;
      const float value = any_float(x);
      if (value > largest) largest = value;
    }
    found = found * 31u + __float_as_uint(largest);
  }
  out[i] = found;
}
