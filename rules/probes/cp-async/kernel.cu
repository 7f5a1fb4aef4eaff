// Tiles of 4 KiB pass through shared memory; every thread reads what its neighbour brought.
#define TILE 1024
#define STAGES 4

static __device__ __forceinline__ void use(const u32 *tile, u32 *out) {
  const u32 at = (threadIdx.x + 1) % 256 * 4;
  const uint4 v = *(const uint4 *)&tile[at];
  *(uint4 *)&out[at] = make_uint4(mixed(v.x), mixed(v.y), mixed(v.z), mixed(v.w));
}

#ifdef PROBE_FEATURE
static __device__ __forceinline__ void bring(u32 *tile, const u32 *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&tile[threadIdx.x * 4])),
               "l"(from + threadIdx.x * 4) : "memory");
}

KERNEL copied(ARGUMENTS) {
  SHARED16 u32 ring[STAGES][TILE];
  const u32 tiles = n / TILE;
  for (u32 s = 0; s < STAGES - 1; s++) {
    const u32 t = blockIdx.x + s * gridDim.x;
    if (t < tiles) bring(ring[s], in + t * TILE);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (u32 k = 0, t = blockIdx.x; t < tiles; k++, t += gridDim.x) {
    const u32 ahead = t + (STAGES - 1) * gridDim.x;
    if (ahead < tiles) bring(ring[(k + STAGES - 1) % STAGES], in + ahead * TILE);
    asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    __syncthreads();
    use(ring[k % STAGES], out + t * TILE);
    __syncthreads();
  }
}
#endif

KERNEL loaded(ARGUMENTS) {
  SHARED16 u32 tile[2][TILE];
  const u32 tiles = n / TILE;
  for (u32 k = 0, t = blockIdx.x; t < tiles; k++, t += gridDim.x) {
    *(uint4 *)&tile[k & 1][threadIdx.x * 4] = *(const uint4 *)&in[t * TILE + threadIdx.x * 4];
    __syncthreads();
    use(tile[k & 1], out + t * TILE);
  }
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(in[i]);
}
