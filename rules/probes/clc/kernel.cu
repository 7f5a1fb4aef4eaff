// 16384 blocks of 256 words; how often each was done stands after the words.
#define BLOCKS 16384
#define WORDS (BLOCKS * 256)

static __device__ __forceinline__ void one_block(const u32 *in, u32 *mid, u32 *out, u32 block) {
  out[block * 256 + threadIdx.x] = mixed(in[block * 256 + threadIdx.x]);
  if (threadIdx.x == 0) atomicAdd(&mid[block], 1u);
}

KERNEL cleared(ARGUMENTS) {
  for (u32 i = first(); i < BLOCKS; i += step()) mid[i] = 0;
}

KERNEL counted(ARGUMENTS) {
  for (u32 i = first(); i < BLOCKS; i += step()) out[WORDS + i] = mid[i];
}

KERNEL each(ARGUMENTS) { one_block(in, mid, out, blockIdx.x); }

#ifdef PROBE_FEATURE
KERNEL taken_over(ARGUMENTS) {
  SHARED16 u64 answer[2];
  __shared__ u64 barrier;
  const u32 place = shared_address(&barrier);
  if (threadIdx.x == 0) {
    barrier_init(place, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  u32 block = blockIdx.x, parity = 0, more;
  do {
    if (threadIdx.x == 0) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      barrier_expect(place, 16);
      asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                       shared_address(answer)), "r"(place) : "memory");
    }
    one_block(in, mid, out, block);
    barrier_wait(place, parity);
    parity ^= 1;
    asm volatile("{\n.reg .b128 both;\n.reg .pred p;\nmov.b128 both, {%2, %3};\n"
                 "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, both;\nselp.u32 %0, 1, 0, p;\n"
                 "mov.u32 %1, 0;\n@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, both;\n}"
                 : "=r"(more), "=r"(block) : "l"(((volatile u64 *)answer)[0]), "l"(((volatile u64 *)answer)[1]) : "memory");
    __syncthreads();
  } while (more);
}
#endif

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = i < WORDS ? mixed(in[i]) : 1u;
}
