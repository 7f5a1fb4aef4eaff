// The lanes that take part change from turn to turn; every lane counts those that were chosen.
#define TURNS 16

KERNEL chosen(ARGUMENTS) {
  const u32 i = first(), lane = threadIdx.x % 32;
  u32 found = in[i];
  for (u32 turn = 0; turn < TURNS; turn++) {
    const u32 members = mixed(i / 32 * TURNS + turn) | 1u << (turn * 2);
    u32 is = 0;
    if (members >> lane & 1u) {
#ifdef PROBE_FEATURE
      asm volatile("{\n.reg .pred p;\nelect.sync _|p, %1;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(is) : "r"(members));
#else
      is = lane == __ffs(members) - 1;
#endif
    }
    __syncwarp();
    const u32 all = __ballot_sync(0xffffffffu, is);
    found = found * 31u + __popc(all) * 2u + ((all & members) != 0u);
  }
  out[i] = found;
}

// One, and one that takes part
KERNEL right(ARGUMENTS) {
  const u32 i = first();
  u32 found = in[i];
  for (u32 turn = 0; turn < TURNS; turn++) found = found * 31u + 3u;
  out[i] = found;
}
