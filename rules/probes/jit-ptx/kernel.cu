// Enough code that compiling it takes the driver a while: eight functions, unrolled.
template <u32 SEED> static __device__ __noinline__ u32 variant(u32 x) {
#pragma unroll
  for (u32 i = 0; i < 64; i++) x = mixed(x * (SEED + 2u * i + 1u)) ^ (x >> (i % 13u));
  return x;
}

KERNEL converted(ARGUMENTS) {
  const u32 i = first();
  u32 x = in[i];
  x = variant<1>(x) + variant<101>(x);
  x = variant<201>(x) + variant<301>(x);
  x = variant<401>(x) + variant<501>(x);
  x = variant<601>(x) + variant<701>(x);
  out[i] = x;
}

static __device__ u32 same_variant(u32 seed, u32 x) {
#pragma unroll 1
  for (u32 i = 0; i < 64; i++) x = mixed(x * (seed + 2u * i + 1u)) ^ (x >> (i % 13u));
  return x;
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    u32 x = in[i];
    for (u32 seed = 1; seed < 800; seed += 200) x = same_variant(seed, x) + same_variant(seed + 100, x);
    out[i] = x;
  }
}
