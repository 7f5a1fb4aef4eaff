#define TURNS 16
#define MANTISSA 3

// Round to nearest even, saturate: the rest of the mantissa is dropped as an integer; below 1 the steps are equal.
static __device__ __forceinline__ u32 one_code(float value) {
  const u32 bits = __float_as_uint(value), size = bits & 0x7fffffffu, drop = 23 - MANTISSA;
  u32 code;
  if (size < 0x3f800000u)
    code = __float2uint_rn(__uint_as_float(size) * (float)(1 << MANTISSA));
  else
    code = ((size + ((1u << (drop - 1)) - 1u) + ((size >> drop) & 1u)) >> drop) - (126u << MANTISSA);
  const u32 most = (4u << MANTISSA) - 1u;
  return (code > most ? most : code) | (bits >> 31) << (2 + MANTISSA);
}

static __device__ __forceinline__ u32 codes(float high, float low) {
#ifdef PROBE_FEATURE
  u16 found;
  asm volatile("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(found) : "f"(high), "f"(low));
  return found;
#else
  return one_code(high) << 8 | one_code(low);
#endif
}

KERNEL converted(ARGUMENTS) {
  const u32 i = first();
  u32 x = in[i], found = 0;
  for (u32 k = 0; k < TURNS; k++) {
    found = found * 31u + codes(any_float(x), any_float(x * 3u));
    x = x * 5u + 1u;
  }
  out[i] = found;
}

// The nearest of all values of the format, by trying each: no bit is looked at.
static __device__ u32 nearest(float value) {
  const float size = fabsf(value);
  u32 best = 0;
  float least = size;
#pragma unroll 1
  for (u32 code = 1; code < (4u << MANTISSA); code++) {
    const u32 exponent = code >> MANTISSA, mantissa = code & ((1u << MANTISSA) - 1u);
    const float part = (float)mantissa / (float)(1 << MANTISSA);
    const float it = exponent ? (1.0f + part) * (float)(1 << (exponent - 1)) : part;
    const float off = fabsf(size - it);
    if (off < least || (off == least && !(code & 1))) least = off, best = code;
  }
  return best | (value < 0 ? 4u << MANTISSA : 0u);
}

KERNEL right(ARGUMENTS) {
  const u32 i = first();
  u32 x = in[i], found = 0;
  for (u32 k = 0; k < TURNS; k++) {
    found = found * 31u + (nearest(any_float(x)) << 8 | nearest(any_float(x * 3u)));
    x = x * 5u + 1u;
  }
  out[i] = found;
}
