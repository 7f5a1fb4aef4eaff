#define TURNS 16

#ifdef PROBE_FEATURE
static __device__ __forceinline__ void all_arrive(u32 barrier, u32 parity) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
  barrier_wait(barrier, parity);
}
#endif

// Each turn, every thread takes the word of another: first all have read, then all write, then all read again.
KERNEL exchanged(ARGUMENTS) {
  __shared__ u32 held[256];
#ifdef PROBE_FEATURE
  __shared__ u64 barrier;
  const u32 place = shared_address(&barrier);
  if (threadIdx.x == 0) barrier_init(place, 256);
  __syncthreads();
#define ALL(parity) all_arrive(place, parity)
#else
#define ALL(parity) __syncthreads()
#endif
  const u32 i = first();
  u32 x = in[i];
  for (u32 turn = 0; turn < TURNS; turn++) {
    held[threadIdx.x] = x;
    ALL(0);
    x = mixed(held[(threadIdx.x + 37) % 256] + turn);
    ALL(1);
  }
  out[i] = x;
}

// The word comes from TURNS times 37 threads further, and is mixed on its way.
KERNEL right(ARGUMENTS) {
  const u32 i = first();
  u32 x = in[(i & ~255u) + (i + TURNS * 37u) % 256];
  for (u32 turn = 0; turn < TURNS; turn++) x = mixed(x + turn);
  out[i] = x;
}
