// Each thread keeps eight words in its lane of tensor memory, and reads them back after all have written.
#define COLUMNS 32

KERNEL through(ARGUMENTS) {
#ifdef PROBE_FEATURE
  __shared__ u32 where;
  if (threadIdx.x < 32)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&where)),
                 "n"(COLUMNS) : "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const u32 place = where + (threadIdx.x / 32 << 21);  // a warp has 32 lanes of its own, in bits 16 to 31
#else
  __shared__ u32 held[8][128];
#endif
  for (u32 start = blockIdx.x * 1024; start < n; start += gridDim.x * 1024) {
    u32 w[8];
    for (u32 i = 0; i < 8; i++) w[i] = mixed(in[start + i * 128 + threadIdx.x]);
#ifdef PROBE_FEATURE
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};\n"
                 "tcgen05.wait::st.sync.aligned;" ::"r"(place), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]),
                 "r"(w[5]), "r"(w[6]), "r"(w[7]) : "memory");
    u32 r[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];\n"
                 "tcgen05.wait::ld.sync.aligned;"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(place) : "memory");
    for (u32 i = 0; i < 8; i++) out[start + i * 128 + threadIdx.x] = r[i];
#else
    for (u32 i = 0; i < 8; i++) held[i][threadIdx.x] = w[i];
    __syncthreads();
    for (u32 i = 0; i < 8; i++) out[start + i * 128 + threadIdx.x] = held[i][threadIdx.x];
    __syncthreads();
#endif
  }
#ifdef PROBE_FEATURE
  __syncthreads();
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(where), "n"(COLUMNS));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
#endif
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(in[i]);
}
