/* Enough of CUDA C++ to run our own texts on the host: a thread of the host for each of a
   block's, one block after the other. */
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __nanosleep(time)
#define __threadfence()
#define __threadfence_system()
#define __fdividef(x, y) ((x) / (y))
#define __syncthreads() all_of_block->arrive_and_wait()
#define __syncwarp() all_of_warp[threadIdx.x / 32]->arrive_and_wait()

struct Three { unsigned x = 1, y = 1, z = 1; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };

static thread_local Three threadIdx, blockIdx;
static Three gridDim, blockDim;
static std::barrier<> *all_of_block;
static std::unique_ptr<std::barrier<>> all_of_warp[32];
static unsigned long long of_lanes[1024];

using std::exp;
using std::fma;
using std::log;
using std::log1p;
using std::sqrt;

template <class A, class B> auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return (T)a < (T)b ? (T)a : (T)b;
}

template <class A, class B> auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return (T)a > (T)b ? (T)a : (T)b;
}

template <class T> T of_lane(T value, int lane) {
  unsigned own = threadIdx.x;
  memcpy(&of_lanes[own], &value, sizeof value);
  __syncwarp();
  memcpy(&value, &of_lanes[(own & ~31u) + lane], sizeof value);
  __syncwarp();
  return value;
}
template <class T> T __shfl_sync(unsigned, T value, int lane) {
  return of_lane(value, lane);
}
template <class T> T __shfl_up_sync(unsigned, T value, int step) {
  int lane = threadIdx.x & 31;
  return of_lane(value, lane < step ? lane : lane - step);
}
template <class T> T __shfl_xor_sync(unsigned, T value, int mask) {
  return of_lane(value, (int)(threadIdx.x & 31) ^ mask);
}

static unsigned __ballot_sync(unsigned, bool holds) {
  unsigned own = threadIdx.x, found = 0;
  of_lanes[own] = holds;
  __syncwarp();
  for (unsigned k = 0; k < 32; k++) found |= (unsigned)of_lanes[(own & ~31u) + k] << k;
  __syncwarp();
  return found;
}

static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __ffs(unsigned x) { return __builtin_ffs(x); }
static unsigned __vsetne4(unsigned a, unsigned b) {
  unsigned found = 0;
  for (int k = 0; k < 32; k += 8)
    found |= (unsigned)((a >> k & 255) != (b >> k & 255)) << k;
  return found;
}
static unsigned long long atomicAdd(unsigned long long *x, unsigned long long y) {
  return __atomic_fetch_add(x, y, __ATOMIC_SEQ_CST);
}

static int atomicAdd(int *x, int y) {
  return __atomic_fetch_add(x, y, __ATOMIC_SEQ_CST);
}
static unsigned atomicAdd(unsigned *x, unsigned y) {
  return __atomic_fetch_add(x, y, __ATOMIC_SEQ_CST);
}
static double atomicAdd(double *x, double y) {
  return std::atomic_ref<double>(*x).fetch_add(y);
}
static unsigned atomicOr(unsigned *x, unsigned y) {
  return __atomic_fetch_or(x, y, __ATOMIC_SEQ_CST);
}
static unsigned atomicInc(unsigned *x, unsigned last) {
  unsigned found = *x;  // one block after the other, and one thread of it
  *x = found >= last ? 0 : found + 1;
  return found;
}
static unsigned atomicAnd(unsigned *x, unsigned y) {
  return __atomic_fetch_and(x, y, __ATOMIC_SEQ_CST);
}
static int atomicMax(int *x, int y) {
  int found = __atomic_load_n(x, __ATOMIC_SEQ_CST);
  while (found < y && !__atomic_compare_exchange_n(x, &found, y, false,
                                                   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return found;
}
template <typename T> static void __stcs(T *target, T value) { *target = value; }
static unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned __int128)x * y >> 64;
}

static float dc_from_half(unsigned short bits) {
  _Float16 half;
  memcpy(&half, &bits, 2);
  return (float)half;
}
static unsigned short dc_to_half(float x) {
  _Float16 half = (_Float16)x;
  unsigned short bits;
  memcpy(&bits, &half, 2);
  return bits;
}

template <class F> void launch(unsigned x, unsigned y, unsigned threads, F run) {
  gridDim.x = x;
  gridDim.y = y;
  blockDim.x = threads;
  for (unsigned row = 0; row < y; row++)
    for (unsigned block = 0; block < x; block++) {
      std::barrier<> all(threads);
      all_of_block = &all;
      for (unsigned k = 0; k < threads / 32; k++)
        all_of_warp[k] = std::make_unique<std::barrier<>>(32);
      std::vector<std::thread> running;
      for (unsigned k = 0; k < threads; k++)
        running.emplace_back([=] {
          threadIdx.x = k;
          blockIdx.x = block;
          blockIdx.y = row;
          run();
          all_of_warp[k / 32]->arrive_and_drop();
          all_of_block->arrive_and_drop();
        });
      for (auto &one : running) one.join();
    }
}
