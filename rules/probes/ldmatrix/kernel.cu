// A warp has four matrices of 8 rows of 16 bytes; thread t gets word t % 4 of row t / 4 of each. Read many times over,
// each time from rows that lie elsewhere.
#define TURNS 64

KERNEL loaded(ARGUMENTS) {
  SHARED16 u32 held[8][128];
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, base = first() / 32 * 128;
  for (u32 k = 0; k < 4; k++) held[warp][k * 32 + lane] = in[base + k * 32 + lane];
  __syncwarp();
  u32 sum[4] = {};
  for (u32 turn = 0; turn < TURNS; turn++) {
    u32 w[4];
#ifdef PROBE_FEATURE
    const u32 row = shared_address(&held[warp][(lane + turn) % 32 * 4]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(row) : "memory");
#else
    for (u32 k = 0; k < 4; k++)
      w[k] = ((volatile u32 *)held[warp])[(k * 8 + lane / 4 + turn) % 32 * 4 + lane % 4];
#endif
    for (u32 k = 0; k < 4; k++) sum[k] = sum[k] * 31u + w[k];
  }
  for (u32 k = 0; k < 4; k++) out[base + k * 32 + lane] = sum[k];
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    const u32 base = i / 128 * 128, k = i % 128 / 32, lane = i % 32;
    u32 sum = 0;
    for (u32 turn = 0; turn < TURNS; turn++)
      sum = sum * 31u + in[base + (k * 8 + lane / 4 + turn) % 32 * 4 + lane % 4];
    out[i] = sum;
  }
}
