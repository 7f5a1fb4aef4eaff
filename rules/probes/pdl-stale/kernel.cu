// The writer takes its time between letting the next kernel start and writing; the reader reads each word once.

static __device__ __forceinline__ void take_time() {
  const long long start = clock64();
  while (clock64() - start < 100000) continue;
}

static __device__ __forceinline__ u32 never_zero(u32 x) { return mixed(x) | 1u; }

static __device__ __forceinline__ void write(ARGUMENTS) {
  take_time();
  for (u32 i = first(); i < n; i += step()) ((volatile u32 *)mid)[i] = never_zero(in[i]);
}

static __device__ __forceinline__ void read(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = ((volatile u32 *)mid)[i];
}

#ifdef PROBE_FEATURE
KERNEL write_early(ARGUMENTS) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  write(in, mid, out, n);
}

KERNEL write_late(ARGUMENTS) { write(in, mid, out, n); }

KERNEL read_waiting(ARGUMENTS) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  read(in, mid, out, n);
}

KERNEL read_at_once(ARGUMENTS) { read(in, mid, out, n); }
#endif

KERNEL right(ARGUMENTS) {
  for (u32 i = first(); i < n; i += step()) out[i] = never_zero(in[i]);
}
