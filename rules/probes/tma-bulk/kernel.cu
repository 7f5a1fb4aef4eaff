// Tiles of 8 KiB pass through shared memory; every thread reads what another part of the copy brought.
#define TILE 2048
#define STAGES 4

static __device__ __forceinline__ void use(const u32 *tile, u32 *out) {
  for (u32 half = 0; half < 2; half++) {
    const u32 at = half * 1024 + (threadIdx.x + 1) % 256 * 4;
    const uint4 v = *(const uint4 *)&tile[at];
    *(uint4 *)&out[at] = make_uint4(mixed(v.x), mixed(v.y), mixed(v.z), mixed(v.w));
  }
}

#ifdef PROBE_FEATURE
static __device__ __forceinline__ void bring(u32 *tile, const u32 *from, u32 barrier) {
  barrier_expect(barrier, TILE * 4);
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(tile)), "l"(from), "r"(TILE * 4), "r"(barrier) : "memory");
}

KERNEL bulk(ARGUMENTS) {
  SHARED16 u32 ring[STAGES][TILE];
  __shared__ u64 full[STAGES];
  const u32 tiles = n / TILE;
  if (threadIdx.x == 0) {
    for (u32 s = 0; s < STAGES; s++) barrier_init(shared_address(&full[s]), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (u32 s = 0; s < STAGES - 1; s++) {
      const u32 t = blockIdx.x + s * gridDim.x;
      if (t < tiles) bring(ring[s], in + t * TILE, shared_address(&full[s]));
    }
  }
  __syncthreads();
  for (u32 k = 0, t = blockIdx.x; t < tiles; k++, t += gridDim.x) {
    const u32 ahead = t + (STAGES - 1) * gridDim.x, s = (k + STAGES - 1) % STAGES;
    if (threadIdx.x == 0 && ahead < tiles) bring(ring[s], in + ahead * TILE, shared_address(&full[s]));
    barrier_wait(shared_address(&full[k % STAGES]), k / STAGES & 1);
    use(ring[k % STAGES], out + t * TILE);
    __syncthreads();
  }
}
#endif

static __device__ __forceinline__ void bring_parts(u32 *tile, const u32 *from) {
  for (u32 half = 0; half < 2; half++) {
    const u32 at = half * 1024 + threadIdx.x * 4;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&tile[at])), "l"(from + at)
                 : "memory");
  }
}

KERNEL copied(ARGUMENTS) {
  SHARED16 u32 ring[STAGES][TILE];
  const u32 tiles = n / TILE;
  for (u32 s = 0; s < STAGES - 1; s++) {
    const u32 t = blockIdx.x + s * gridDim.x;
    if (t < tiles) bring_parts(ring[s], in + t * TILE);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (u32 k = 0, t = blockIdx.x; t < tiles; k++, t += gridDim.x) {
    const u32 ahead = t + (STAGES - 1) * gridDim.x;
    if (ahead < tiles) bring_parts(ring[(k + STAGES - 1) % STAGES], in + ahead * TILE);
    asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    __syncthreads();
    use(ring[k % STAGES], out + t * TILE);
    __syncthreads();
  }
}

KERNEL loaded(ARGUMENTS) {
  SHARED16 u32 tile[2][TILE];
  const u32 tiles = n / TILE;
  for (u32 k = 0, t = blockIdx.x; t < tiles; k++, t += gridDim.x) {
    for (u32 half = 0; half < 2; half++) {
      const u32 at = half * 1024 + threadIdx.x * 4;
      *(uint4 *)&tile[k & 1][at] = *(const uint4 *)&in[t * TILE + at];
    }
    __syncthreads();
    use(tile[k & 1], out + t * TILE);
  }
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(in[i]);
}
