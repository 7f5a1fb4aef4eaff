// Tiles of 32 rows of 64 words out of a matrix of 4096 columns. The answer is the matrix, word by word.
#define COLUMNS 4096
#define BOX_COLUMNS 64
#define BOX_ROWS 32
#define TILE (BOX_COLUMNS * BOX_ROWS)
#define STAGES 4
#define ACROSS (COLUMNS / BOX_COLUMNS)

struct __align__(64) TensorMap {
  u64 opaque[16];
};

static __device__ __forceinline__ u32 place(u32 tile, u32 row) {
  return (tile / ACROSS * BOX_ROWS + row) * COLUMNS + tile % ACROSS * BOX_COLUMNS;
}

// Each thread takes 16 bytes that another brought
static __device__ __forceinline__ void use(const u32 *held, u32 tile, u32 *out) {
  for (u32 half = 0; half < 2; half++) {
    const u32 at = half * 1024 + (threadIdx.x + 1) % 256 * 4;
    const uint4 v = *(const uint4 *)&held[at];
    *(uint4 *)&out[place(tile, at / BOX_COLUMNS) + at % BOX_COLUMNS] =
        make_uint4(mixed(v.x), mixed(v.y), mixed(v.z), mixed(v.w));
  }
}

#ifdef PROBE_FEATURE
static __device__ __forceinline__ void bring(u32 *held, const TensorMap *map, u32 tile, u32 barrier) {
  barrier_expect(barrier, TILE * 4);
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
               "[%4];" ::"r"(shared_address(held)), "l"(map), "r"(tile % ACROSS * BOX_COLUMNS),
               "r"(tile / ACROSS * BOX_ROWS), "r"(barrier) : "memory");
}

KERNEL tiles(ARGUMENTS, const __grid_constant__ TensorMap map) {
  __shared__ __align__(128) u32 ring[STAGES][TILE];
  __shared__ u64 full[STAGES];
  const u32 count = n / TILE;
  if (threadIdx.x == 0) {
    for (u32 s = 0; s < STAGES; s++) barrier_init(shared_address(&full[s]), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (u32 s = 0; s < STAGES - 1; s++) {
      const u32 t = blockIdx.x + s * gridDim.x;
      if (t < count) bring(ring[s], &map, t, shared_address(&full[s]));
    }
  }
  __syncthreads();
  for (u32 k = 0, t = blockIdx.x; t < count; k++, t += gridDim.x) {
    const u32 ahead = t + (STAGES - 1) * gridDim.x, s = (k + STAGES - 1) % STAGES;
    if (threadIdx.x == 0 && ahead < count) bring(ring[s], &map, ahead, shared_address(&full[s]));
    barrier_wait(shared_address(&full[k % STAGES]), k / STAGES & 1);
    use(ring[k % STAGES], t, out);
    __syncthreads();
  }
}
#endif

static __device__ __forceinline__ void bring_parts(u32 *held, const u32 *in, u32 tile) {
  for (u32 half = 0; half < 2; half++) {
    const u32 at = half * 1024 + threadIdx.x * 4;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&held[at])),
                 "l"(in + place(tile, at / BOX_COLUMNS) + at % BOX_COLUMNS) : "memory");
  }
}

KERNEL copied(ARGUMENTS) {
  SHARED16 u32 ring[STAGES][TILE];
  const u32 count = n / TILE;
  for (u32 s = 0; s < STAGES - 1; s++) {
    const u32 t = blockIdx.x + s * gridDim.x;
    if (t < count) bring_parts(ring[s], in, t);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (u32 k = 0, t = blockIdx.x; t < count; k++, t += gridDim.x) {
    const u32 ahead = t + (STAGES - 1) * gridDim.x;
    if (ahead < count) bring_parts(ring[(k + STAGES - 1) % STAGES], in, ahead);
    asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    __syncthreads();
    use(ring[k % STAGES], t, out);
    __syncthreads();
  }
}

KERNEL loaded(ARGUMENTS) {
  SHARED16 u32 held[2][TILE];
  const u32 count = n / TILE;
  for (u32 k = 0, t = blockIdx.x; t < count; k++, t += gridDim.x) {
    for (u32 half = 0; half < 2; half++) {
      const u32 at = half * 1024 + threadIdx.x * 4;
      *(uint4 *)&held[k & 1][at] = *(const uint4 *)&in[place(t, at / BOX_COLUMNS) + at % BOX_COLUMNS];
    }
    __syncthreads();
    use(held[k & 1], t, out);
  }
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(in[i]);
}
