// A tile is what a block holds: 256 words. out = the sum of the eight tiles of its group, word by word.
#define GROUP 8

static __device__ __forceinline__ u32 costly(u32 x) {
  for (u32 i = 0; i < 8; i++) x = mixed(x + i);
  return x;
}

#ifdef PROBE_FEATURE
KERNEL through_cluster(ARGUMENTS) {
  __shared__ u32 tile[256];
  const u32 i = first();
  tile[threadIdx.x] = costly(in[i]);
  cluster_barrier();
  u32 sum = 0;
  for (u32 k = 0; k < GROUP; k++) {
    u32 word;
    const u32 place = at_peer(shared_address(&tile[threadIdx.x]), (cluster_rank() + k) % GROUP);
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(place) : "memory");
    sum += word;
  }
  out[i] = sum + blockIdx.x;
  cluster_barrier();
}
#endif

KERNEL write_tiles(ARGUMENTS) { mid[first()] = costly(in[first()]); }

KERNEL sum_tiles(ARGUMENTS) {
  u32 sum = 0;
  for (u32 k = 0; k < GROUP; k++) sum += mid[(blockIdx.x / GROUP * GROUP + k) * 256 + threadIdx.x];
  out[first()] = sum + blockIdx.x;
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    const u32 block = i / 256;
    u32 sum = block;
    for (u32 k = 0; k < GROUP; k++) sum += costly(in[(block / GROUP * GROUP + k) * 256 + i % 256]);
    out[i] = sum;
  }
}
