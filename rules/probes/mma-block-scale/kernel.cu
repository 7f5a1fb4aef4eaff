#define DEPTH 64

KERNEL product(ARGUMENTS) {
  WARP_OF_GRID
  float sum[4][4] = {};
#ifdef PROBE_FEATURE
  LOAD_OPERANDS(DEPTH, 0, 4, 0x2u, 0xau)
  const u32 scale = 0x38383838u;  // four times 1.0 as ue4m3
#pragma unroll 1
  for (u32 k = 0; k < ROUNDS; k++)
#pragma unroll
    for (u32 j = 0; j < 4; j++)
      asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
                   "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, {%10}, {0, 0}, {%10}, {0, 0};"
                   : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[j][0]), "r"(b[j][1]), "r"(scale));
#else
  HALF_PRODUCT(DEPTH)
#endif
  STORE_RESULT(sum)
}

KERNEL right(ARGUMENTS) { right_product(in, out, n, DEPTH); }
