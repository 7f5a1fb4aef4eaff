// Each block gives its words to the next of the cluster, eight times.
#define TURNS 8
#define BLOCKS 4

#ifdef PROBE_FEATURE
KERNEL passed_async(ARGUMENTS) {
  __shared__ u32 held[TURNS][256];
  __shared__ u64 barriers[TURNS];
  if (threadIdx.x == 0)
    for (u32 turn = 0; turn < TURNS; turn++) {
      barrier_init(shared_address(&barriers[turn]), 1);
      barrier_expect(shared_address(&barriers[turn]), 256 * 4);
    }
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  cluster_barrier();
  const u32 next = (cluster_rank() + 1) % BLOCKS;
  u32 x = in[first()];
  for (u32 turn = 0; turn < TURNS; turn++) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                     at_peer(shared_address(&held[turn][threadIdx.x]), next)), "r"(x),
                 "r"(at_peer(shared_address(&barriers[turn]), next)) : "memory");
    barrier_wait_for_cluster(shared_address(&barriers[turn]), 0);
    x = mixed(held[turn][threadIdx.x] + turn);
  }
  out[first()] = x;
  cluster_barrier();
}

KERNEL passed(ARGUMENTS) {
  __shared__ u32 held[2][256];
  cluster_barrier();
  const u32 next = (cluster_rank() + 1) % BLOCKS;
  u32 x = in[first()];
  for (u32 turn = 0; turn < TURNS; turn++) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at_peer(shared_address(&held[turn & 1][threadIdx.x]), next)),
                 "r"(x) : "memory");
    cluster_barrier();
    x = mixed(held[turn & 1][threadIdx.x] + turn);
  }
  out[first()] = x;
  cluster_barrier();
}
#endif

// Eight turns around four blocks: the words come back to where they were.
KERNEL right(ARGUMENTS) {
  u32 x = in[first()];
  for (u32 turn = 0; turn < TURNS; turn++) x = mixed(x + turn);
  out[first()] = x;
}
