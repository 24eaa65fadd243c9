// The kernels of the place on a card. `make ptx` writes place.ptx, which the crate ships.
//
// Chunks are groups of 1,024 terms, stored in slabs of `per_slab` chunks. Of a slab: terms[chunk][feature][1024], squares[chunk][1024],
// coefficients[chunk][column][1024]. One start of a kernel works on chunks of many slabs, `begin` is the first of them.
// The order of every sum is that of okl/src/gram: an inner product is one chain of fused multiply-adds over the features; the total of a
// chunk has 32 lanes, lane l is one chain over the slots l, l + 32, ..., and lanes are added by halves; totals are added chunk by chunk.

#include "arithmetic.h"

#define CHUNK 1024
#define TILE 128
#define DEPTH 8

struct okl_slab {
    const float *terms, *squares;
    const double *coefficients;
};

// rows[row][feature] -> packed[feature][row], both with room for `padded` rows; rows beyond `count` become 0.
extern "C" __global__ void pack_rows(const float *__restrict__ rows, float *__restrict__ packed, int count, int padded, int features) {
    __shared__ float tile[32][33];
    int feature = blockIdx.y * 32 + threadIdx.x, first = blockIdx.x * 32;
    for (int i = threadIdx.y; i < 32; i += 8) {
        int row = first + i;
        tile[i][threadIdx.x] = row < count && feature < features ? rows[(size_t)row * features + feature] : 0.0f;
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        int out = blockIdx.y * 32 + i, row = first + threadIdx.x;
        if (out < features && row < padded) packed[(size_t)out * padded + row] = tile[threadIdx.x][i];
    }
}

// One feature of 128 rows and of 128 terms: 64 fused multiply-adds per thread.
static __device__ __forceinline__ void multiply(const float *sa, const float *sb, int tx, int ty, float acc[8][8]) {
    float a[8], b[8];
    *(float4 *)&a[0] = *(const float4 *)&sa[ty * 4];
    *(float4 *)&a[4] = *(const float4 *)&sa[64 + ty * 4];
    *(float4 *)&b[0] = *(const float4 *)&sb[tx * 4];
    *(float4 *)&b[4] = *(const float4 *)&sb[64 + tx * 4];
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) acc[i][j] = okl_fma(a[i], b[j], acc[i][j]);
}

// Values of `rows` rows (a multiple of 128) against the terms of some chunks: out[row][slot]. Grid: rows / 128, slots / 128.
template <bool GAUSSIAN>
static __device__ __forceinline__ void values(const float *__restrict__ packed, const float *__restrict__ xx,
                                              const okl_slab *__restrict__ slabs, int begin, int per_slab, float *__restrict__ out,
                                              int rows, int slots, int features, float c, float far) {
    __shared__ float sa[2][DEPTH][TILE], sb[2][DEPTH][TILE];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, k = t / 32, at = (t % 32) * 4;
    int row = blockIdx.x * TILE, slot = blockIdx.y * TILE;
    int chunk = begin + slot / CHUNK;
    const okl_slab &slab = slabs[chunk / per_slab];
    chunk %= per_slab;
    const float *__restrict__ a = packed + row, *__restrict__ b = slab.terms + (size_t)chunk * features * CHUNK + slot % CHUNK;
    const float *__restrict__ yy = slab.squares + (size_t)chunk * CHUNK + slot % CHUNK;
    float acc[8][8] = {};
    const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    *(float4 *)&sa[0][k][at] = k < features ? *(const float4 *)&a[(size_t)k * rows + at] : zero;
    *(float4 *)&sb[0][k][at] = k < features ? *(const float4 *)&b[(size_t)k * CHUNK + at] : zero;
    __syncthreads();
    int whole = features / DEPTH, rest = features % DEPTH, steps = whole + (rest > 0);
    for (int s = 0; s < steps; s++) {
        int now = s & 1, next = (s + 1) * DEPTH + k;
        float4 pa = zero, pb = zero;
        if (next < features) {
            pa = *(const float4 *)&a[(size_t)next * rows + at];
            pb = *(const float4 *)&b[(size_t)next * CHUNK + at];
        }
        if (s < whole) {
#pragma unroll
            for (int i = 0; i < DEPTH; i++) multiply(sa[now][i], sb[now][i], tx, ty, acc);
        } else {
            for (int i = 0; i < rest; i++) multiply(sa[now][i], sb[now][i], tx, ty, acc);
        }
        *(float4 *)&sa[1 - now][k][at] = pa;
        *(float4 *)&sb[1 - now][k][at] = pb;
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int r = row + (i < 4 ? ty * 4 + i : 64 + ty * 4 + i - 4);
        float x = GAUSSIAN ? xx[r] : 0.0f;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int s = slot + h * 64 + tx * 4;
            float o[4];
#pragma unroll
            for (int j = 0; j < 4; j++) o[j] = GAUSSIAN ? okl_gaussian(acc[i][h * 4 + j], x, yy[s - slot + j], c, far) : acc[i][h * 4 + j];
            *(float4 *)&out[(size_t)r * slots + s] = make_float4(o[0], o[1], o[2], o[3]);
        }
    }
}

extern "C" __global__ __launch_bounds__(256) void gaussian_values(const float *packed, const float *xx, const okl_slab *slabs, int begin,
                                                     int per_slab, float *out, int rows, int slots, int features, float c,
                                                     float far) {
    values<true>(packed, xx, slabs, begin, per_slab, out, rows, slots, features, c, far);
}

extern "C" __global__ __launch_bounds__(256) void inner_products(const float *packed, const float *xx, const okl_slab *slabs, int begin,
                                                     int per_slab, float *out, int rows, int slots, int features, float c,
                                                     float far) {
    values<false>(packed, xx, slabs, begin, per_slab, out, rows, slots, features, c, far);
}

// Kernel values from inner products: out[row][slot] = value(dots[row][slot]); `out` may be `dots`. Grid: slots / 256, rows.
extern "C" __global__ __launch_bounds__(256) void map_values(const float *dots, float *out, const float *__restrict__ xx,
                                                             const okl_slab *__restrict__ slabs, int begin, int per_slab,
                                                             const okl_step *__restrict__ steps, int count, int slots) {
    int slot = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y, chunk = begin + slot / CHUNK;
    size_t at = (size_t)row * slots + slot;
    float dot = dots[at], x = xx[row], y = slabs[chunk / per_slab].squares[chunk % per_slab * CHUNK + slot % CHUNK];
    out[at] = count == 1 ? okl_leaf(steps[0], dot, x, y) : okl_value(steps, count, dot, x, y);
}

// The number of steps whose values are fetched together, before they are needed.
#define AHEAD 4

// Adds the lanes of N numbers by halves: 16, 8, 4, 2, 1. At each half every lane keeps one half of the numbers and gives the other half away.
template <int N> static __device__ __forceinline__ void add_lanes(double *a, int lane) {
    int n = N;
#pragma unroll
    for (int half = 16; half > 0; half /= 2) {
        if (n > 1) {
            n /= 2;
            bool upper = lane & half;
#pragma unroll
            for (int i = 0; i < N / 2; i++)
                if (i < n) {
                    double keep = upper ? a[i + n] : a[i], give = upper ? a[i] : a[i + n];
                    a[i] = __dadd_rn(keep, __shfl_xor_sync(~0u, give, half));
                }
        } else {
            a[0] = __dadd_rn(a[0], __shfl_xor_sync(~0u, a[0], half));
        }
    }
}

// The totals of `groups` times O columns, from column `first` on: totals[chunk][row][column]. A warp is the 32 lanes and sums R rows at a time.
// Grid: a multiple of `groups`, chunks; 128 threads; O * 8 KiB of shared memory. `rows` is a multiple of R.
template <int O, int R>
static __device__ __forceinline__ void totals(const float *__restrict__ values, const okl_slab *__restrict__ slabs, int begin,
                                              int per_slab, double *__restrict__ totals, int rows, int slots, int columns, int first,
                                              int groups) {
    extern __shared__ double shared[];
    const int N = R * O;
    int chunk = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int part = blockIdx.x / groups, parts = gridDim.x / groups;
    first += blockIdx.x % groups * O;
    const okl_slab &slab = slabs[(begin + chunk) / per_slab];
    const double *__restrict__ from = slab.coefficients + ((size_t)((begin + chunk) % per_slab) * columns + first) * CHUNK;
    // shared[step][pair of columns][lane][column of the pair]
    for (int i = threadIdx.x; i < CHUNK * O; i += blockDim.x) {
        int column = i / CHUNK, slot = i % CHUNK;
        if (O == 1) shared[slot] = from[i];
        else shared[(((slot / 32) * (O / 2) + column / 2) * 32 + slot % 32) * 2 + column % 2] = from[i];
    }
    __syncthreads();
    int warps = parts * (blockDim.x / 32);
    for (int row = (part * (blockDim.x / 32) + warp) * R; row < rows; row += warps * R) {
        const float *k = values + (size_t)row * slots + (size_t)chunk * CHUNK + lane;
        double a[N];
        float now[AHEAD][R], next[AHEAD][R];
#pragma unroll
        for (int i = 0; i < N; i++) a[i] = 0.0;
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
#pragma unroll
            for (int r = 0; r < R; r++) now[u][r] = k[(size_t)r * slots + u * 32];
        for (int step = 0; step < 32; step += AHEAD) {
            if (step + AHEAD < 32) {
#pragma unroll
                for (int u = 0; u < AHEAD; u++)
#pragma unroll
                    for (int r = 0; r < R; r++) next[u][r] = k[(size_t)r * slots + (step + AHEAD + u) * 32];
            }
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                double wide[R];
#pragma unroll
                for (int r = 0; r < R; r++) wide[r] = (double)now[u][r];
                if (O == 1) {
                    double c = shared[(step + u) * 32 + lane];
#pragma unroll
                    for (int r = 0; r < R; r++) a[r] = __fma_rn(wide[r], c, a[r]);
                } else {
#pragma unroll
                    for (int q = 0; q < O / 2; q++) {
                        double2 c = ((const double2 *)shared)[((step + u) * (O / 2) + q) * 32 + lane];
#pragma unroll
                        for (int r = 0; r < R; r++) {
                            a[r * O + 2 * q] = __fma_rn(wide[r], c.x, a[r * O + 2 * q]);
                            a[r * O + 2 * q + 1] = __fma_rn(wide[r], c.y, a[r * O + 2 * q + 1]);
                        }
                    }
                }
            }
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
#pragma unroll
                for (int r = 0; r < R; r++) now[u][r] = next[u][r];
        }
        add_lanes<N>(a, lane);
        // Lane l has the number l / (32 / N).
        const int share = 32 / N;
        int i = lane / share;
        if (lane % share == 0) totals[((size_t)chunk * rows + row + i / O) * columns + first + i % O] = a[0];
    }
}

#define TOTALS(O, R)                                                                                                               \
    extern "C" __global__ __launch_bounds__(128) void totals_##O(const float *values, const okl_slab *slabs, int begin,            \
                                                                 int per_slab, double *out, int rows, int slots, int columns,      \
                                                                 int first, int groups) {                                          \
        totals<O, R>(values, slabs, begin, per_slab, out, rows, slots, columns, first, groups);                                    \
    }
TOTALS(1, 8)
TOTALS(2, 8)
TOTALS(4, 8)
TOTALS(8, 4)

// Adds the totals of chunks in their order to the running totals of `numbers` rows and columns.
extern "C" __global__ void fold(const double *__restrict__ totals, double *__restrict__ running, int numbers, int chunks) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= numbers) return;
    double sum = running[i];
#pragma unroll 16
    for (int c = 0; c < chunks; c++) sum = __dadd_rn(sum, totals[(size_t)c * numbers + i]);
    running[i] = sum;
}
