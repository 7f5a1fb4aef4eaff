// All four blocks of a cluster need every tile of 8 KiB. Each thread keeps the sum of its eight words, mixed with the rank.
#define TILE 2048
#define STAGES 4
#define BLOCKS 4

static __device__ __forceinline__ u32 sum_of_eight(const u32 *tile, u32 rank) {
  u32 sum = 0;
  for (u32 i = 0; i < 8; i++) sum += mixed(tile[i * 256 + (threadIdx.x + 1) % 256] + rank);
  return sum;
}

#ifdef PROBE_FEATURE
static __device__ __forceinline__ void arrive_at(u32 barrier, u32 rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(at_peer(barrier, rank)) : "memory");
}

template <bool MULTICAST> static __device__ __forceinline__ void sums(ARGUMENTS) {
  SHARED16 u32 ring[STAGES][TILE];
  __shared__ u64 full[STAGES], empty[STAGES];
  const u32 rank = cluster_rank(), cluster = blockIdx.x / BLOCKS, clusters = gridDim.x / BLOCKS, count = n / 256 / BLOCKS;
  if (threadIdx.x == 0) {
    for (u32 s = 0; s < STAGES; s++) {
      barrier_init(shared_address(&full[s]), 1);
      barrier_init(shared_address(&empty[s]), MULTICAST ? BLOCKS : 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_barrier();
  // One thread brings and all use: what is brought in turn k goes where turn k - STAGES was used, by all four blocks.
  u32 brought = 0;
  for (u32 k = 0, t = cluster; t < count; k++, t += clusters) {
    if (threadIdx.x == 0)
      for (; brought < k + STAGES - 1 && cluster + brought * clusters < count; brought++) {
        const u32 s = brought % STAGES, round = brought / STAGES;
        const u32 barrier = shared_address(&full[s]), from = (cluster + brought * clusters) * TILE;
        if (round) barrier_wait_for_cluster(shared_address(&empty[s]), (round - 1) & 1);
        barrier_expect(barrier, TILE * 4);
        if (MULTICAST)
          asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
                       "%2, [%3], %4;" ::"r"(shared_address(&ring[s][rank * (TILE / BLOCKS)])),
                       "l"(in + from + rank * (TILE / BLOCKS)), "r"(TILE * 4 / BLOCKS), "r"(barrier), "h"((u16)15)
                       : "memory");
        else
          asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                           shared_address(ring[s])), "l"(in + from), "r"(TILE * 4), "r"(barrier) : "memory");
      }
    const u32 s = k % STAGES;
    barrier_wait(shared_address(&full[s]), k / STAGES & 1);
    out[(t * BLOCKS + rank) * 256 + threadIdx.x] = sum_of_eight(ring[s], rank);
    __syncthreads();
    if (MULTICAST) {
      if (threadIdx.x < BLOCKS) arrive_at(shared_address(&empty[s]), threadIdx.x);
    } else if (threadIdx.x == 0) {
      arrive_at(shared_address(&empty[s]), rank);
    }
  }
  cluster_barrier();  // no block ends while another still writes to it
}

KERNEL sums_multicast(ARGUMENTS) { sums<true>(in, mid, out, n); }
KERNEL sums_alone(ARGUMENTS) { sums<false>(in, mid, out, n); }
#endif

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    const u32 tile = i / 256 / BLOCKS, rank = i / 256 % BLOCKS, thread = i % 256;
    u32 sum = 0;
    for (u32 k = 0; k < 8; k++) sum += mixed(in[tile * TILE + k * 256 + (thread + 1) % 256] + rank);
    out[i] = sum;
  }
}
