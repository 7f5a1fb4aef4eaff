#ifdef PROBE_FEATURE
// Right only if the block stands where the launch says that it does
KERNEL clustered(ARGUMENTS) {
  const u32 size = cluster_size();
  const bool placed = size > 1 && blockIdx.x % size == cluster_rank();
  cluster_barrier();
  for (u32 i = first(); i < n; i += step()) out[i] = placed ? mixed(in[i]) : 0u;
  cluster_barrier();
}
#endif

KERNEL alone(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(in[i]);
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    u32 x = in[i];
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    out[i] = x ^ (x >> 12);
  }
}
