KERNEL short_kernel(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = mixed(in[i]) + 1u;
}

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    u32 x = in[i];
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    out[i] = (x ^ (x >> 12)) + 1u;
  }
}
