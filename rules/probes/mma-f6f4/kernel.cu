// An element of four bits stands in the middle of its byte: 1 is 0010, shifted by two.
#define DEPTH 32

KERNEL product(ARGUMENTS) {
  WARP_OF_GRID
  float sum[4][4] = {};
#ifdef PROBE_FEATURE
  LOAD_OPERANDS(DEPTH, 0, 8, 0x08u, 0x28u)
#pragma unroll 1
  for (u32 k = 0; k < ROUNDS; k++)
#pragma unroll
    for (u32 j = 0; j < 4; j++)
      asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                   "{%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[j][0]), "r"(b[j][1]));
#else
  HALF_PRODUCT(DEPTH)
#endif
  STORE_RESULT(sum)
}

KERNEL right(ARGUMENTS) { right_product(in, out, n, DEPTH); }
