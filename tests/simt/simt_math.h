/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's arithmetic functions for a host compiler. Those that round correctly give the device's bits; the approximate
 * ones (__expf, rsqrtf, sincospi …) give the host library's value, which is at least as close. Files that include this
 * are compiled with -ffp-contract=off.
 */
#ifndef WM_TESTS_SIMT_MATH_H
#define WM_TESTS_SIMT_MATH_H

/* ---- Correctly rounded ---- */

WM_SIMT_INLINE float __fmaf_rn(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
WM_SIMT_INLINE double __fma_rn(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
WM_SIMT_INLINE float __fadd_rn(float a, float b) {
    return a + b;
}
WM_SIMT_INLINE double __dadd_rn(double a, double b) {
    return a + b;
}
WM_SIMT_INLINE float __fsub_rn(float a, float b) {
    return a - b;
}
WM_SIMT_INLINE double __dsub_rn(double a, double b) {
    return a - b;
}
WM_SIMT_INLINE float __fmul_rn(float a, float b) {
    return a * b;
}
WM_SIMT_INLINE double __dmul_rn(double a, double b) {
    return a * b;
}
WM_SIMT_INLINE float __fdiv_rn(float a, float b) {
    return a / b;
}
WM_SIMT_INLINE double __ddiv_rn(double a, double b) {
    return a / b;
}
WM_SIMT_INLINE float __fsqrt_rn(float x) {
    return __builtin_sqrtf(x);
}
WM_SIMT_INLINE double __dsqrt_rn(double x) {
    return __builtin_sqrt(x);
}
WM_SIMT_INLINE float __frcp_rn(float x) {
    return 1.0f / x;
}
WM_SIMT_INLINE double __drcp_rn(double x) {
    return 1.0 / x;
}

/* ---- Conversions, to nearest even where the name ends in rn; out of range saturates and NaN is 0, as on the device
 * ---- */

WM_SIMT_INLINE float __double2float_rn(double x) {
    return (float)x;
}
WM_SIMT_INLINE float __int2float_rn(int x) {
    return (float)x;
}
WM_SIMT_INLINE float __uint2float_rn(unsigned x) {
    return (float)x;
}
WM_SIMT_INLINE float __ll2float_rn(long long x) {
    return (float)x;
}
WM_SIMT_INLINE float __ull2float_rn(unsigned long long x) {
    return (float)x;
}
WM_SIMT_INLINE double __int2double_rn(int x) {
    return x;
}
WM_SIMT_INLINE double __uint2double_rn(unsigned x) {
    return x;
}
WM_SIMT_INLINE double __ll2double_rn(long long x) {
    return (double)x;
}
WM_SIMT_INLINE double __ull2double_rn(unsigned long long x) {
    return (double)x;
}
WM_SIMT_INLINE int wm_simt_to_int(double x) {
    if (x != x) return 0;
    return x >= 2147483647.0 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : (int)x;
}
WM_SIMT_INLINE unsigned wm_simt_to_uint(double x) {
    return !(x > 0) ? 0 : x >= 4294967295.0 ? 4294967295u : (unsigned)x;
}
WM_SIMT_INLINE int __float2int_rn(float x) {
    return wm_simt_to_int(__builtin_rintf(x));
}
WM_SIMT_INLINE int __float2int_rz(float x) {
    return wm_simt_to_int(x);
}
WM_SIMT_INLINE int __float2int_rd(float x) {
    return wm_simt_to_int(__builtin_floorf(x));
}
WM_SIMT_INLINE int __double2int_rn(double x) {
    return wm_simt_to_int(__builtin_rint(x));
}
WM_SIMT_INLINE int __double2int_rz(double x) {
    return wm_simt_to_int(x);
}
WM_SIMT_INLINE unsigned __float2uint_rz(float x) {
    return wm_simt_to_uint(x);
}
WM_SIMT_INLINE unsigned __float2uint_rn(float x) {
    return wm_simt_to_uint(__builtin_rintf(x));
}

/* ---- Integers ---- */

WM_SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
WM_SIMT_INLINE int __mulhi(int a, int b) {
    return (int)((long long)a * b >> 32);
}
WM_SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    __extension__ typedef unsigned __int128 wide;
    return (unsigned long long)((wide)a * b >> 64);
}
WM_SIMT_INLINE int __popc(unsigned x) {
    return __builtin_popcount(x);
}
WM_SIMT_INLINE int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
WM_SIMT_INLINE int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
WM_SIMT_INLINE int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
WM_SIMT_INLINE int __ffs(int x) {
    return __builtin_ffs(x);
}
WM_SIMT_INLINE int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
WM_SIMT_INLINE unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}
WM_SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (by & 31)) >> 32);
}
WM_SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}

/* ---- Approximate or at most a few units in the last place off, on the device ---- */

WM_SIMT_INLINE float rsqrtf(float x) {
    return (float)(1.0 / __builtin_sqrt((double)x));
}
WM_SIMT_INLINE double rsqrt(double x) {
    return 1.0 / __builtin_sqrt(x);
}
/* The C library has functions of these names, too, for itself. */
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
WM_SIMT_INLINE float __fdividef(float a, float b) {
    return a / b;
}
WM_SIMT_INLINE float __saturatef(float x) {
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}

/* Sine and cosine of pi x; exact at multiples of 1/2. */
WM_SIMT_INLINE void sincospi(double x, double *sine, double *cosine) {
    const long double pi = 3.14159265358979323846264338327950288L;
    long double nearest = __builtin_rintl(2.0L * x), rest = x - 0.5L * nearest;
    double s = (double)sinl(pi * rest), c = (double)cosl(pi * rest);
    int quadrant = (int)fmodl(nearest, 4.0L) & 3;
    *sine = quadrant == 0 ? s : quadrant == 1 ? c : quadrant == 2 ? -s : -c;
    *cosine = quadrant == 0 ? c : quadrant == 1 ? -s : quadrant == 2 ? -c : s;
}
WM_SIMT_INLINE void sincospif(float x, float *sine, float *cosine) {
    double s, c;
    sincospi(x, &s, &c);
    *sine = (float)s;
    *cosine = (float)c;
}
WM_SIMT_INLINE double sinpi(double x) {
    double s, c;
    sincospi(x, &s, &c);
    return s;
}
WM_SIMT_INLINE double cospi(double x) {
    double s, c;
    sincospi(x, &s, &c);
    return c;
}
WM_SIMT_INLINE float sinpif(float x) {
    return (float)sinpi(x);
}
WM_SIMT_INLINE float cospif(float x) {
    return (float)cospi(x);
}

/* CUDA has these in the global namespace for every arithmetic type. */
template <class T>
WM_SIMT_INLINE T min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
WM_SIMT_INLINE T max(T a, T b) {
    return a < b ? b : a;
}

#endif
