// Put before every kernel.cu. Nothing is included: the headers of CUDA are in no wheel that has NVRTC.
// Every kernel takes the same arguments: random words, a buffer of zeros, the answer and its number of words.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define ARGUMENTS const u32 *in, u32 *mid, u32 *out, u32 n
#define KERNEL extern "C" __global__ void
#define SHARED16 __shared__ __align__(16)

static __device__ __forceinline__ u32 mixed(u32 x) {
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  return x ^ (x >> 12);
}

static __device__ __forceinline__ u32 first() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ __forceinline__ u32 step() { return gridDim.x * blockDim.x; }

static __device__ __forceinline__ u32 shared_address(const void *place) {
  return (u32)__cvta_generic_to_shared(place);
}

// A finite float with any sign and mantissa, from 2^-12 to 2^10: below, within and above the narrow formats.
static __device__ __forceinline__ float any_float(u32 x) {
  return __uint_as_float((x & 0x807fffffu) | ((115u + ((x >> 23) & 0xffu) % 23u) << 23));
}

// An integer from -4096 to 4095 as a float
static __device__ __forceinline__ float whole_float(u32 x) { return (float)((int)(x & 0x1fffu) - 0x1000); }

// --- barriers in shared memory (mbarrier)

static __device__ __forceinline__ void barrier_init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

static __device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
  } while (!done);
}

// What another block of the cluster did is only seen with the scope of the cluster.
static __device__ __forceinline__ void barrier_wait_for_cluster(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
  } while (!done);
}

static __device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

static __device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

static __device__ __forceinline__ u32 cluster_size() {
  u32 size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

// Where a peer of the cluster has what stands at `address` here
static __device__ __forceinline__ u32 at_peer(u32 address, u32 rank) {
  u32 found;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(address), "r"(rank));
  return found;
}

// --- matrices of -1, 0 and 1, whose products are exact in every format: a byte of the input an element
// A warp has a of 16 rows and b of 32 columns, each of `depth` elements; its answer is 16 by 32 floats.

static __device__ __forceinline__ int small(u32 byte) { return (int)((byte & 0xffu) % 3u) - 1; }

static __device__ __forceinline__ int element_a(const u32 *in, u32 warp, u32 row, u32 k, u32 depth) {
  const u32 at = (warp * 48 + row) * depth + k;
  return small(in[at >> 2] >> ((at & 3) * 8));
}

static __device__ __forceinline__ int element_b(const u32 *in, u32 warp, u32 column, u32 k, u32 depth) {
  return element_a(in, warp, 16 + column, k, depth);
}

// `count` elements from k on, each `bits` wide, as codes: `one` is the code of 1, `minus` that of -1
static __device__ __forceinline__ u32 packed(const u32 *in, u32 warp, u32 row, u32 k, u32 depth, u32 bits, u32 one,
                                             u32 minus) {
  u32 word = 0;
#pragma unroll 1
  for (u32 i = 0; i < 32 / bits; i++) {
    const int value = element_a(in, warp, row, k + i, depth);
    word |= (value > 0 ? one : value < 0 ? minus : 0u) << (i * bits);
  }
  return word;
}

#define ROUNDS 256

// The operands of a warp for mma.sync with a row of k of `bits` wide elements in 16 or 32 bytes
#define LOAD_OPERANDS(depth, k0, bits, one, minus)                                                                     \
  u32 a[4], b[4][2];                                                                                                   \
  for (u32 i = 0; i < 4; i++)                                                                                          \
    a[i] = packed(in, warp, group + (i & 1) * 8, k0 + (lane4 + (i >> 1) * 4) * (32 / bits), depth, bits, one, minus);  \
  for (u32 j = 0; j < 4; j++)                                                                                          \
    for (u32 i = 0; i < 2; i++)                                                                                        \
      b[j][i] =                                                                                                        \
          packed(in, warp, 16 + j * 8 + group, k0 + (lane4 + i * 4) * (32 / bits), depth, bits, one, minus);

#define STORE_RESULT(sum)                                                                                              \
  for (u32 j = 0; j < 4; j++)                                                                                          \
    for (u32 i = 0; i < 4; i++)                                                                                        \
      out[warp * 512 + (group + (i >> 1) * 8) * 32 + j * 8 + lane4 * 2 + (i & 1)] = __float_as_uint(sum[j][i]);

#define WARP_OF_GRID                                                                                                   \
  const u32 warp = first() / 32, lane = threadIdx.x & 31, group = lane >> 2, lane4 = lane & 3;                         \
  if (warp * 512 >= n) return;


static __device__ __forceinline__ void mma_f16_k16(float *d, const u32 *a, const u32 *b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// What all of them must come to: ROUNDS times the product
static __device__ __forceinline__ void right_product(const u32 *in, u32 *out, u32 n, u32 depth) {
  for (u32 i = first(); i < n; i += step()) {
    const u32 warp = i / 512, row = i % 512 / 32, column = i % 32;
    int sum = 0;
#pragma unroll 1
    for (u32 k = 0; k < depth; k++)
      sum += element_a(in, warp, row, k, depth) * element_b(in, warp, column, k, depth);
    out[i] = __float_as_uint((float)(sum * ROUNDS));
  }
}

// The same product in fp16, of any depth that is a multiple of 16; the operands of a round are in registers
#define HALF_PRODUCT(depth)                                                                                            \
  u32 held_a[depth / 16][4], held_b[depth / 16][4][2];                                                                 \
  _Pragma("unroll") for (u32 part = 0; part < depth / 16; part++) {                                                    \
    LOAD_OPERANDS(depth, part * 16, 16, 0x3c00u, 0xbc00u)                                                              \
    for (u32 i = 0; i < 4; i++) held_a[part][i] = a[i];                                                                \
    for (u32 i = 0; i < 8; i++) held_b[part][i >> 1][i & 1] = b[i >> 1][i & 1];                                        \
  }                                                                                                                    \
  _Pragma("unroll 1") for (u32 k = 0; k < ROUNDS; k++) _Pragma("unroll") for (u32 j = 0; j < 4; j++)                   \
      _Pragma("unroll") for (u32 part = 0; part < depth / 16; part++)                                                  \
          mma_f16_k16(sum[j], held_a[part], held_b[part][j]);
