// Four chains of fused multiplications and additions; each rounds as fmaf does.
#define TURNS 256

static __device__ __forceinline__ u64 both(float low, float high) {
  return (u64)__float_as_uint(high) << 32 | __float_as_uint(low);
}

KERNEL products(ARGUMENTS) {
  const u32 i = first() * 2;
  const float a = any_float(in[i]) * 0x1p-10f, b = any_float(in[i + 1]) * 0x1p-10f;
#ifdef PROBE_FEATURE
  u64 sum[4], factor = both(a, b);
  for (u32 k = 0; k < 4; k++) sum[k] = both((float)k, (float)k + 0.5f);
#pragma unroll 4
  for (u32 turn = 0; turn < TURNS; turn++)
    for (u32 k = 0; k < 4; k++)
      asm volatile("fma.rn.f32x2 %0, %0, %1, %1;" : "+l"(sum[k]) : "l"(factor));
  u32 low = 0, high = 0;
  for (u32 k = 0; k < 4; k++) low = low * 31u + (u32)sum[k], high = high * 31u + (u32)(sum[k] >> 32);
#else
  float one[4], other[4];
  for (u32 k = 0; k < 4; k++) one[k] = (float)k, other[k] = (float)k + 0.5f;
#pragma unroll 4
  for (u32 turn = 0; turn < TURNS; turn++)
    for (u32 k = 0; k < 4; k++) {
      asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(one[k]) : "f"(a));
      asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(other[k]) : "f"(b));
    }
  u32 low = 0, high = 0;
  for (u32 k = 0; k < 4; k++)
    low = low * 31u + __float_as_uint(one[k]), high = high * 31u + __float_as_uint(other[k]);
#endif
  out[i] = low;
  out[i + 1] = high;
}

// An exact product and sum in doubles, rounded once: 24 bits times 24 bits plus 24 bits may need more than 53, where the
// addends lie far apart; then both are summed without an error and the rest decides (to odd, then to nearest).
static __device__ float once_rounded(float a, float b, float c) {
  const double product = (double)a * (double)b, sum = product + (double)c, part = sum - product;
  const double rest = (product - (sum - part)) + ((double)c - part);
  long long bits = __double_as_longlong(sum);
  if (rest != 0.0 && !(bits & 1)) bits += (rest > 0.0) == (sum > 0.0) ? 1 : -1;
  return (float)__longlong_as_double(bits);
}

KERNEL right(ARGUMENTS) {
  const u32 i = first() * 2;
  for (u32 half = 0; half < 2; half++) {
    const float a = any_float(in[i + half]) * 0x1p-10f;
    u32 found = 0;
    for (u32 k = 0; k < 4; k++) {
      float sum = (float)k + (half ? 0.5f : 0.0f);
#pragma unroll 1
      for (u32 turn = 0; turn < TURNS; turn++) sum = once_rounded(sum, a, a);
      found = found * 31u + __float_as_uint(sum);
    }
    out[i + half] = found;
  }
}
