// A block is a warp group: a of 64 by 64 times b of 64 by 64 (given by columns), elements -1, 0 and 1, many times over.
#define EDGE 64
#define TURNS 64

static __device__ __forceinline__ int element(const u32 *in, u32 block, u32 row, u32 k) {
  const u32 at = (block * 2 * EDGE + row) * EDGE + k;
  return small(in[at >> 2] >> ((at & 3) * 8));
}

static __device__ __forceinline__ u32 half_code(int value) { return value > 0 ? 0x3c00u : value < 0 ? 0xbc00u : 0u; }

static __device__ __forceinline__ u32 pair(const u32 *in, u32 block, u32 row, u32 k) {
  return half_code(element(in, block, row, k)) | half_code(element(in, block, row, k + 1)) << 16;
}

#ifdef PROBE_FEATURE
// Core matrices are 8 rows of 16 bytes. Those beside each other in k follow each other; 8 rows further is 1 KiB further.
static __device__ __forceinline__ u64 described(u32 address) {
  return (u64)(address >> 4) | (u64)(128 >> 4) << 16 | (u64)(1024 >> 4) << 32;
}

KERNEL product(ARGUMENTS) {
  __shared__ __align__(128) u32 held[2][EDGE * EDGE / 2];
  const u32 block = blockIdx.x;
  if (block * EDGE * EDGE >= n) return;
  for (u32 i = threadIdx.x; i < EDGE * EDGE; i += 128) {
    const u32 which = i / (EDGE * EDGE / 2), at = i % (EDGE * EDGE / 2), row = at / 32, k = at % 32 * 2;
    held[which][row / 8 * 256 + k / 8 * 32 + row % 8 * 4 + k % 8 / 2] = pair(in, block, which * EDGE + row, k);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[32];
#pragma unroll
  for (u32 i = 0; i < 32; i++) d[i] = 0.0f;
  const u64 a = described(shared_address(held[0])), b = described(shared_address(held[1]));
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
  for (u32 turn = 0; turn < TURNS; turn++)
#pragma unroll
    for (u32 k = 0; k < EDGE / 16; k++)  // 16 of k are two core matrices: 256 bytes
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
          "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
            "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
            "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
            "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
          : "l"(a + k * 16), "l"(b + k * 16));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  const u32 lane = threadIdx.x & 31, row = threadIdx.x / 32 * 16 + (lane >> 2), column = (lane & 3) * 2;
#pragma unroll
  for (u32 i = 0; i < 32; i++)
    out[block * EDGE * EDGE + (row + (i >> 1 & 1) * 8) * EDGE + i / 4 * 8 + column + (i & 1)] = __float_as_uint(d[i]);
}
#else
KERNEL product(ARGUMENTS) {
  const u32 block = blockIdx.x;
  if (block * EDGE * EDGE >= n) return;
  const u32 lane = threadIdx.x & 31, group = lane >> 2, lane4 = lane & 3, row = threadIdx.x / 32 * 16;
  u32 a[4][4];
#pragma unroll
  for (u32 k = 0; k < 4; k++)
#pragma unroll
    for (u32 i = 0; i < 4; i++)
      a[k][i] = pair(in, block, row + group + (i & 1) * 8, k * 16 + (i >> 1) * 8 + lane4 * 2);
  float d[8][4] = {};
#pragma unroll
  for (u32 j = 0; j < 8; j++) {
    u32 b[4][2];
#pragma unroll
    for (u32 k = 0; k < 4; k++)
#pragma unroll
      for (u32 i = 0; i < 2; i++)
        b[k][i] = pair(in, block, EDGE + j * 8 + group, k * 16 + i * 8 + lane4 * 2);
#pragma unroll 1
    for (u32 turn = 0; turn < TURNS; turn++)
#pragma unroll
      for (u32 k = 0; k < 4; k++) mma_f16_k16(d[j], a[k], b[k]);
  }
#pragma unroll
  for (u32 j = 0; j < 8; j++)
#pragma unroll
    for (u32 i = 0; i < 4; i++)
      out[block * EDGE * EDGE + (row + group + (i >> 1) * 8) * EDGE + j * 8 + lane4 * 2 + (i & 1)] =
          __float_as_uint(d[j][i]);
}
#endif

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    const u32 block = i / (EDGE * EDGE), row = i % (EDGE * EDGE) / EDGE, column = i % EDGE;
    int sum = 0;
    for (u32 k = 0; k < EDGE; k++) sum += element(in, block, row, k) * element(in, block, EDGE + column, k);
    out[i] = __float_as_uint((float)(sum * TURNS));
  }
}
