// Sixteen times 65536 words are added up as whole floats: exact in any order.
#define PARTS 16

KERNEL cleared(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) mid[i] = 0;
}

KERNEL added(ARGUMENTS) {
  for (u32 i = first() * 4; i < n * PARTS; i += step() * 4) {
    float *to = (float *)mid + i % n;
    const float v[4] = {whole_float(in[i]), whole_float(in[i + 1]), whole_float(in[i + 2]), whole_float(in[i + 3])};
#ifdef PROBE_FEATURE
    asm volatile("red.global.v4.f32.add [%0], {%1,%2,%3,%4};" ::"l"(to), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
                 : "memory");
#else
    for (u32 k = 0; k < 4; k++) atomicAdd(to + k, v[k]);
#endif
  }
}

KERNEL taken(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = __float_as_uint(((float *)mid)[i] + 0.0f);
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    int sum = 0;
    for (u32 part = 0; part < PARTS; part++) sum += (int)(in[part * n + i] & 0x1fffu) - 0x1000;
    out[i] = __float_as_uint((float)sum);
  }
}
