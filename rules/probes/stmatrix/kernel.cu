// The other way round: thread t has word t % 4 of row t / 4 of four matrices. After each store every thread reads back
// one word of its row, so that no store can be left out.
#define TURNS 64

KERNEL stored(ARGUMENTS) {
  SHARED16 u32 held[8][128];
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, base = first() / 32 * 128;
  u32 w[4];
  for (u32 k = 0; k < 4; k++) w[k] = in[base + k * 32 + lane];
#pragma unroll 4
  for (u32 turn = 0; turn < TURNS; turn++) {
#ifdef PROBE_FEATURE
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(
                     shared_address(&held[warp][lane * 4])), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
#else
    for (u32 k = 0; k < 4; k++) ((volatile u32 *)held[warp])[(k * 8 + lane / 4) * 4 + lane % 4] = w[k];
#endif
    __syncwarp();
    w[turn % 4] = mixed(w[turn % 4] + ((volatile u32 *)held[warp])[(lane * 4 + turn * 4 + 1) % 128]);
    __syncwarp();
  }
  for (u32 k = 0; k < 4; k++) out[base + k * 32 + lane] = w[k];
}

// The same with shuffles alone: word p of a warp's matrices stands in lane p / 4 % 8 * 4 + p % 4, as its word p / 32.
KERNEL right(ARGUMENTS) {
  const u32 lane = threadIdx.x % 32, warps = step() / 32;
  for (u32 warp = first() / 32; warp * 128 < n; warp += warps) {
    u32 w[4];
    for (u32 k = 0; k < 4; k++) w[k] = in[warp * 128 + k * 32 + lane];
#pragma unroll 4
    for (u32 turn = 0; turn < TURNS; turn++) {
      const u32 p = (lane * 4 + turn * 4 + 1) % 128;
      u32 found = 0;
      for (u32 k = 0; k < 4; k++) {
        const u32 word = __shfl_sync(0xffffffffu, w[k], p / 4 % 8 * 4 + p % 4);
        if (p / 32 == k) found = word;
      }
      for (u32 k = 0; k < 4; k++)
        if (turn % 4 == k) w[k] = mixed(w[k] + found);
    }
    for (u32 k = 0; k < 4; k++) out[warp * 128 + k * 32 + lane] = w[k];
  }
}
