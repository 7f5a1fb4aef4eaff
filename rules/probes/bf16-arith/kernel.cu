// The factors are whole numbers up to 15 and the sum stays small: every result is exact in bf16, in floats too.
#define TURNS 64

static __device__ __forceinline__ u32 bf16_of(int whole) { return __float_as_uint((float)whole) >> 16; }

static __device__ __forceinline__ u32 pair_of(u32 x) {
  return bf16_of((int)(x & 15u) - 8) | bf16_of((int)(x >> 16 & 15u) - 8) << 16;
}

// As a chip without it does: widen, multiply and add, round to nearest even
static __device__ __forceinline__ u32 rounded(float value) {
  const u32 bits = __float_as_uint(value);
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

static __device__ __forceinline__ u32 multiplied(u32 a, u32 b, u32 c) {
#ifdef PROBE_FEATURE
  u32 d;
  asm volatile("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
#else
  const float low = fmaf(__uint_as_float(a << 16), __uint_as_float(b << 16), __uint_as_float(c << 16));
  const float high = fmaf(__uint_as_float(a & 0xffff0000u), __uint_as_float(b & 0xffff0000u),
                          __uint_as_float(c & 0xffff0000u));
  return rounded(low) | rounded(high) << 16;
#endif
}

KERNEL products(ARGUMENTS) {
  const u32 i = first();
  const u32 a = pair_of(in[i]), b = pair_of(in[i] >> 4);
  u32 found = 0, c = pair_of(in[i] >> 8);
#pragma unroll 4
  for (u32 k = 0; k < TURNS; k++) {
    c = multiplied(a, b, c ^ (k & 1u ? 0x80008000u : 0u));  // the sign turns, so that the sum stays small
    found = found * 31u + c;
  }
  out[i] = found;
}

// In whole numbers; minus zero is what bf16 makes of it: a sum of zeros of one sign, or of a product below
static __device__ u32 exact(int a, int b, int &c, bool turn, bool &minus) {
  const bool minus_product = a * b == 0 && ((a < 0) != (b < 0));
  if (turn) c = -c, minus = !minus;
  const bool both_minus = c == 0 && minus && minus_product;
  c += a * b;
  minus = c == 0 ? both_minus : c < 0;
  return c == 0 ? (minus ? 0x8000u : 0u) : bf16_of(c);
}

KERNEL right(ARGUMENTS) {
  const u32 i = first();
  const u32 x = in[i];
  u32 found = 0;
  int low = (int)(x >> 8 & 15u) - 8, high = (int)(x >> 24 & 15u) - 8;
  bool minus_low = false, minus_high = false;
  if (low < 0) minus_low = true;
  if (high < 0) minus_high = true;
#pragma unroll 1
  for (u32 k = 0; k < TURNS; k++) {
    const u32 one = exact((int)(x & 15u) - 8, (int)(x >> 4 & 15u) - 8, low, k & 1u, minus_low);
    const u32 other = exact((int)(x >> 16 & 15u) - 8, (int)(x >> 20 & 15u) - 8, high, k & 1u, minus_high);
    found = found * 31u + (one | other << 16);
  }
  out[i] = found;
}
