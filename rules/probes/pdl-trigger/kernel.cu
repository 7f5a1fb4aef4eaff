// Both kernels wait; they differ in when they let the next one start: first, last, or never (which is when they end).

static __device__ __forceinline__ u32 prologue() {
  u32 seed = threadIdx.x;
  #pragma unroll 1
  for (u32 i = 0; i < 400; i++) seed = mixed(seed + i);
  return seed;
}

#ifdef PROBE_FEATURE
#define TRIGGER asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#define WAIT asm volatile("griddepcontrol.wait;" ::: "memory");

#define BOTH(one, two, before, after)                                               \
  KERNEL one(ARGUMENTS) {                                                           \
    before const u32 seed = prologue();                                             \
    WAIT for (u32 i = first(); i < n; i += step()) mid[i] = mixed(in[i]) + seed;    \
    after                                                                           \
  }                                                                                 \
  KERNEL two(ARGUMENTS) {                                                           \
    before const u32 seed = prologue();                                             \
    WAIT for (u32 i = first(); i < n; i += step()) out[i] = mixed(mid[n - 1 - i]) ^ seed; \
    after                                                                           \
  }

BOTH(first_early, second_early, TRIGGER, )
BOTH(first_late, second_late, , TRIGGER)
BOTH(first_none, second_none, , )
#endif

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    u32 seed = i % blockDim.x, other = (n - 1 - i) % blockDim.x;
    for (u32 k = 0; k < 400; k++) seed = mixed(seed + k), other = mixed(other + k);
    out[i] = mixed(mixed(in[n - 1 - i]) + other) ^ seed;
  }
}
