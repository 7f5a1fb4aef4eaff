// Every word that the block has is written by one thread and read by another.
KERNEL through_shared(ARGUMENTS) {
  extern __shared__ u32 held[];
  u32 bytes;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  const u32 words = bytes / 4;
  for (u32 start = blockIdx.x * words; start < n; start += gridDim.x * words) {
    for (u32 i = threadIdx.x; i < words && start + i < n; i += blockDim.x) held[i] = mixed(in[start + i]);
    __syncthreads();
    const u32 here = min(words, n - start);
    for (u32 i = threadIdx.x; i < here; i += blockDim.x) out[start + here - 1 - i] = held[here - 1 - i] + 1u;
    __syncthreads();
  }
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(in[i]) + 1u;
}
