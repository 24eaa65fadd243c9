// The arithmetic of one kernel value: the same operations in the same order as okl/src/parts/kernel (maps.rs, exp.rs).
//
// This file is C. nvcc compiles it for the card as a part of place.cu; a test compiles it for the processor and compares every value with
// the library's, to the last bit. Every operation is one of IEEE 754, rounded once: nothing may be contracted or flushed to zero
// (nvcc --fmad=false, cc -ffp-contract=off).

#ifdef __CUDACC__
#define OKL_FUNCTION static __device__ __forceinline__
#define okl_fma(a, b, c) __fmaf_rn(a, b, c)
#define okl_mul(a, b) __fmul_rn(a, b)
#define okl_add(a, b) __fadd_rn(a, b)
#define okl_sub(a, b) __fsub_rn(a, b)
#define okl_div(a, b) __fdiv_rn(a, b)
#define okl_sqrt(a) __fsqrt_rn(a)
#define okl_bits(a) __float_as_uint(a)
#define okl_float(a) __uint_as_float(a)
#else
#include <math.h>
#include <string.h>
#define OKL_FUNCTION static inline
#define okl_fma(a, b, c) fmaf(a, b, c)
#define okl_mul(a, b) ((a) * (b))
#define okl_add(a, b) ((a) + (b))
#define okl_sub(a, b) ((a) - (b))
#define okl_div(a, b) ((a) / (b))
#define okl_sqrt(a) sqrtf(a)
static inline unsigned okl_bits(float a) { unsigned bits; memcpy(&bits, &a, 4); return bits; }
static inline float okl_float(unsigned bits) { float a; memcpy(&a, &bits, 4); return a; }
#endif

#define OKL_LOG2_E 1.44269504088896340735992468100f
#define OKL_LN_2 0.693147180559945309417232121458f

// What a step of a program does; program.rs has the same numbers.
enum { OKL_LINEAR, OKL_POLYNOMIAL, OKL_GAUSSIAN, OKL_EXPONENTIAL, OKL_MATERN32, OKL_MATERN52, OKL_RATIONAL, OKL_TIMES, OKL_START, OKL_ADD, OKL_MULTIPLY };

// The most values that a program keeps at a time.
#define OKL_DEPTH 16

// One step of a program, with its constants.
typedef struct { int code; float a, b; unsigned degree; } okl_step;

OKL_FUNCTION float okl_at_least(float x, float floor) { return x > floor ? x : floor; }
OKL_FUNCTION float okl_at_most(float x, float ceiling) { return x < ceiling ? x : ceiling; }

// 2^(u c) for u c between -126 and 127.
OKL_FUNCTION float okl_exp2_product(float u, float c) {
    const float round = 12582912.0f;
    float shifted = okl_fma(u, c, round);
    float r = okl_fma(u, c, okl_sub(round, shifted));
    float p = 1.5453163e-4f;
    p = okl_fma(p, r, 1.3390863e-3f);
    p = okl_fma(p, r, 9.618083e-3f);
    p = okl_fma(p, r, 5.550357e-2f);
    p = okl_fma(p, r, 0.2402265f);
    p = okl_fma(p, r, OKL_LN_2);
    p = okl_fma(p, r, 1.0f);
    return okl_float(okl_bits(p) + (okl_bits(shifted) << 23));
}

OKL_FUNCTION float okl_exp2(float x) { return okl_exp2_product(okl_at_least(x, -126.0f), 1.0f); }

// log2(u) for normal u > 0.
OKL_FUNCTION float okl_log2(float u) {
    const unsigned sqrt_half = 0x3f3504f3u;
    const float rest_of_log2_e = (float)(1.44269504088896340735992468100 - (double)OKL_LOG2_E);
    unsigned above = okl_bits(u) - sqrt_half;
    float e = (float)((int)above >> 23);
    float f = okl_sub(okl_float((above & 0x007fffffu) + sqrt_half), 1.0f);
    float p = -0.10749789f;
    p = okl_fma(p, f, 0.18476033f);
    p = okl_fma(p, f, -0.19138838f);
    p = okl_fma(p, f, 0.20485765f);
    p = okl_fma(p, f, -0.23960812f);
    p = okl_fma(p, f, 0.28855255f);
    p = okl_fma(p, f, -0.36069655f);
    p = okl_fma(p, f, 0.48089853f);
    p = okl_fma(p, f, -0.72134733f);
    float rest = okl_mul(f, okl_fma(p, f, rest_of_log2_e));
    return okl_add(e, okl_fma(f, OKL_LOG2_E, rest));
}

// log2(1 + v) for v >= 0.
OKL_FUNCTION float okl_log2_1p(float v) {
    v = okl_at_most(v, 1e38f);
    float u = okl_add(1.0f, v);
    float lost = okl_sub(v, okl_sub(u, 1.0f));
    return okl_fma(okl_div(lost, u), OKL_LOG2_E, okl_log2(u));
}

// log2(1 + c r2), also where c r2 is beyond single precision.
OKL_FUNCTION float okl_log2_1p_product(float c, float r2) {
    float v = okl_mul(c, r2);
    int far = v > 1e38f;
    float near_one = okl_sub(okl_mul(okl_mul(c, 1.17549435e-38f), r2), 1.0f);
    return okl_add(okl_log2_1p(far ? near_one : v), far ? 126.0f : 0.0f);
}

OKL_FUNCTION float okl_distance2(float dot, float xx, float yy) {
    return okl_at_least(okl_fma(-2.0f, dot, okl_add(xx, yy)), 0.0f);
}

OKL_FUNCTION float okl_gaussian(float dot, float xx, float yy, float c, float far) {
    return okl_exp2_product(okl_at_most(okl_distance2(dot, xx, yy), far), c);
}

// The length of a step of a Matern kernel; an infinite one times 0 would be NaN.
OKL_FUNCTION float okl_matern_length(float dot, float xx, float yy, float c) {
    return okl_at_most(okl_mul(c, okl_sqrt(okl_distance2(dot, xx, yy))), 88.0f);
}

// A power by repeated squaring, from the lowest bit of the degree.
OKL_FUNCTION float okl_power(float base, unsigned degree) {
    float value = 1.0f;
    for (; degree > 0; degree /= 2) {
        if (degree % 2 == 1) value = okl_mul(value, base);
        base = okl_mul(base, base);
    }
    return value;
}

// The value of a kernel that is not made of others.
OKL_FUNCTION float okl_leaf(okl_step step, float dot, float xx, float yy) {
    float s;
    switch (step.code) {
        case OKL_POLYNOMIAL: return okl_power(okl_fma(step.a, dot, step.b), step.degree);
        case OKL_GAUSSIAN: return okl_gaussian(dot, xx, yy, step.a, step.b);
        case OKL_EXPONENTIAL: return okl_exp2(okl_mul(step.a, okl_sqrt(okl_distance2(dot, xx, yy))));
        case OKL_MATERN32:
            s = okl_matern_length(dot, xx, yy, step.a);
            return okl_mul(okl_add(1.0f, s), okl_exp2(okl_mul(s, -OKL_LOG2_E)));
        case OKL_MATERN52:
            s = okl_matern_length(dot, xx, yy, step.a);
            return okl_mul(okl_fma(okl_mul(s, s), 1.0f / 3.0f, okl_add(1.0f, s)), okl_exp2(okl_mul(s, -OKL_LOG2_E)));
        case OKL_RATIONAL: return okl_exp2(okl_mul(step.b, okl_log2_1p_product(step.a, okl_distance2(dot, xx, yy))));
        default: return dot;
    }
}

// The value of a kernel as a program for a stack: leaves and starts of sums and products are pushed, the other steps change the top.
OKL_FUNCTION float okl_value(const okl_step *steps, int count, float dot, float xx, float yy) {
    float stack[OKL_DEPTH];
    int top = -1;
    for (int i = 0; i < count; i++) {
        okl_step step = steps[i];
        switch (step.code) {
            case OKL_TIMES: stack[top] = okl_mul(step.a, stack[top]); break;
            case OKL_START: stack[++top] = step.a; break;
            case OKL_ADD: top--; stack[top] = okl_add(stack[top], stack[top + 1]); break;
            case OKL_MULTIPLY: top--; stack[top] = okl_mul(stack[top], stack[top + 1]); break;
            default: stack[++top] = okl_leaf(step, dot, xx, yy);
        }
    }
    return stack[0];
}
