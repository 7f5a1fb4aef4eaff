// Four phases; each reads what other blocks wrote in the one before. The counter only grows, so that passes may follow.

static __device__ __forceinline__ u32 elsewhere(u32 i, u32 n) { return (i * 7919u + 13u) % n; }

static __device__ __forceinline__ void phase(const u32 *from, u32 *to, u32 n) {
  for (u32 i = first(); i < n; i += step()) to[i] = mixed(((const volatile u32 *)from)[elsewhere(i, n)] + i);
}

#ifdef PROBE_FEATURE
static __device__ __forceinline__ void grid_barrier(u32 *counter) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const u32 goal = (atomicAdd(counter, 1u) / gridDim.x + 1u) * gridDim.x;
    while ((int)(*(volatile u32 *)counter - goal) < 0) continue;
    __threadfence();
  }
  __syncthreads();
}

KERNEL all_phases(ARGUMENTS) {
  u32 *one = mid + 32, *other = mid + 32 + n;
  phase(in, one, n);
  grid_barrier(mid);
  phase(one, other, n);
  grid_barrier(mid);
  phase(other, one, n);
  grid_barrier(mid);
  phase(one, out, n);
}
#endif

KERNEL phase_first(ARGUMENTS) { phase(in, mid + 32, n); }
KERNEL phase_there(ARGUMENTS) { phase(mid + 32, mid + 32 + n, n); }
KERNEL phase_back(ARGUMENTS) { phase(mid + 32 + n, mid + 32, n); }
KERNEL phase_last(ARGUMENTS) { phase(mid + 32, out, n); }

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) {
    const u32 a = elsewhere(i, n), b = elsewhere(a, n), c = elsewhere(b, n), d = elsewhere(c, n);
    out[i] = mixed(mixed(mixed(mixed(in[d] + c) + b) + a) + i);
  }
}
