// Two kernels, each with work that needs nothing of the one before (a prologue) and work that does.
// Both wait before they write: the first of the next pass must not overwrite what the second still reads.

static __device__ __forceinline__ u32 prologue() {
  u32 seed = threadIdx.x;
  #pragma unroll 1
  for (u32 i = 0; i < 400; i++) seed = mixed(seed + i);
  return seed;
}

static __device__ __forceinline__ void let_next_start() {
#ifdef PROBE_FEATURE
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

static __device__ __forceinline__ void wait_for_last() {
#ifdef PROBE_FEATURE
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

KERNEL first_half(ARGUMENTS) {
  let_next_start();
  const u32 seed = prologue();
  wait_for_last();
  for (u32 i = first(); i < n; i += step()) mid[i] = mixed(in[i]) + seed;
}

KERNEL second_half(ARGUMENTS) {
  let_next_start();
  const u32 seed = prologue();
  wait_for_last();
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(mid[n - 1 - i]) ^ seed;
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    u32 seed = i % blockDim.x, other = (n - 1 - i) % blockDim.x;
    for (u32 k = 0; k < 400; k++) seed = mixed(seed + k), other = mixed(other + k);
    out[i] = mixed(mixed(in[n - 1 - i]) + other) ^ seed;
  }
}
