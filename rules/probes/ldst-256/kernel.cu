KERNEL copied(ARGUMENTS) {
  for (u32 i = first() * 8; i < n; i += step() * 8) {
    u32 w[8];
#ifdef PROBE_FEATURE
    asm volatile("ld.global.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]), "=r"(w[4]), "=r"(w[5]), "=r"(w[6]), "=r"(w[7])
                 : "l"(in + i));
#else
    *(uint4 *)w = *(const uint4 *)(in + i);
    *(uint4 *)(w + 4) = *(const uint4 *)(in + i + 4);
#endif
    for (u32 k = 0; k < 8; k++) w[k] = mixed(w[k]);
#ifdef PROBE_FEATURE
    asm volatile("st.global.v8.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};" ::"l"(out + i), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                 "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]) : "memory");
#else
    *(uint4 *)(out + i) = make_uint4(w[0], w[1], w[2], w[3]);
    *(uint4 *)(out + i + 4) = make_uint4(w[4], w[5], w[6], w[7]);
#endif
  }
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(in[i]);
}
