/* SPDX-License-Identifier: Apache-2.0 */
/* Padding and cropping as functors: `user` is no pointer, but the numbers themselves. */
#include "convolve_functors.h"

#include "lib/convolution.h"

#include <stddef.h>

/* ---- As CUDA C, for each type; %s are not used, so that the texts are constants ---- */

#define HEAD                                                                                                           \
    "(const void *in, long long index, long long position, const void *user) {\n    return position < (long "          \
    "long)user ? "
#define TAIL                                                                                                           \
    "    long long first = (long long)user >> 32, at = position - first;\n    if (at >= 0 && at < ((long long)user & " \
    "0xffffffff)) "

static const char *const pads[] = {
    "__device__ wmC64 padded" HEAD "wmC64{((const float *)in)[index], 0.0f} : wmC64{0.0f, 0.0f};\n}\n",
    "__device__ wmC128 padded" HEAD "wmC128{((const double *)in)[index], 0.0} : wmC128{0.0, 0.0};\n}\n",
    "__device__ wmC64 padded" HEAD "((const wmC64 *)in)[index] : wmC64{0.0f, 0.0f};\n}\n",
    "__device__ wmC128 padded" HEAD "((const wmC128 *)in)[index] : wmC128{0.0, 0.0};\n}\n",
};
static const char *const crops[] = {
    "__device__ void cropped(void *out, long long index, long long position, wmC64 v, const void *user) {\n" TAIL
    "((float *)out)[index - first] = v.re;\n}\n",
    "__device__ void cropped(void *out, long long index, long long position, wmC128 v, const void *user) {\n" TAIL
    "((double *)out)[index - first] = v.re;\n}\n",
    "__device__ void cropped(void *out, long long index, long long position, wmC64 v, const void *user) {\n" TAIL
    "((wmC64 *)out)[index - first] = v;\n}\n",
    "__device__ void cropped(void *out, long long index, long long position, wmC128 v, const void *user) {\n" TAIL
    "((wmC128 *)out)[index - first] = v;\n}\n",
};

/* ---- And as the CPU and the emulation have it ---- */

static wmFftPair padded(wmType type, const void *in, int64_t index, int64_t position, const void *user) {
    wmFftPair v = {0, 0};
    if (position >= (int64_t)(intptr_t)user) return v;
    if (type == WM_F32) v.re = (double)((const float *)in)[index];
    if (type == WM_F64) v.re = ((const double *)in)[index];
    if (type == WM_C64)
        v.re = (double)((const float *)in)[2 * index], v.im = (double)((const float *)in)[2 * index + 1];
    if (type == WM_C128) v.re = ((const double *)in)[2 * index], v.im = ((const double *)in)[2 * index + 1];
    return v;
}

static void cropped(wmType type, void *out, int64_t index, int64_t position, wmFftPair v, const void *user) {
    int64_t first = (int64_t)(intptr_t)user >> 32, at = position - first;
    index -= first;
    if (at < 0 || at >= ((int64_t)(intptr_t)user & 0xffffffff)) return;
    if (type == WM_F32) ((float *)out)[index] = (float)v.re;
    if (type == WM_F64) ((double *)out)[index] = v.re;
    if (type == WM_C64) ((float *)out)[2 * index] = (float)v.re, ((float *)out)[2 * index + 1] = (float)v.im;
    if (type == WM_C128) ((double *)out)[2 * index] = v.re, ((double *)out)[2 * index + 1] = v.im;
}

static wmFftPair pad_f32(const void *in, int64_t index, int64_t position, const void *user) {
    return padded(WM_F32, in, index, position, user);
}
static wmFftPair pad_f64(const void *in, int64_t index, int64_t position, const void *user) {
    return padded(WM_F64, in, index, position, user);
}
static wmFftPair pad_c64(const void *in, int64_t index, int64_t position, const void *user) {
    return padded(WM_C64, in, index, position, user);
}
static wmFftPair pad_c128(const void *in, int64_t index, int64_t position, const void *user) {
    return padded(WM_C128, in, index, position, user);
}
static void crop_f32(void *out, int64_t index, int64_t position, wmFftPair v, const void *user) {
    cropped(WM_F32, out, index, position, v, user);
}
static void crop_f64(void *out, int64_t index, int64_t position, wmFftPair v, const void *user) {
    cropped(WM_F64, out, index, position, v, user);
}
static void crop_c64(void *out, int64_t index, int64_t position, wmFftPair v, const void *user) {
    cropped(WM_C64, out, index, position, v, user);
}
static void crop_c128(void *out, int64_t index, int64_t position, wmFftPair v, const void *user) {
    cropped(WM_C128, out, index, position, v, user);
}

static int row_of(const wmConvolutionDesc *d) {
    return 2 * !wm_convolution_is_real(d) + wm_convolution_is_f64(d);
}

void wm_convolve_pads(const wmConvolutionDesc *d, wmFftLoad *load) {
    static const struct {
        wmFftPair (*host)(const void *, int64_t, int64_t, const void *);
    } hosts[] = {{pad_f32}, {pad_f64}, {pad_c64}, {pad_c128}};
    load->source = pads[row_of(d)];
    load->name = "padded";
    load->host = hosts[row_of(d)].host;
    load->type = d->type;
}

void wm_convolve_crops(const wmConvolutionDesc *d, wmFftStore *store) {
    static const struct {
        void (*host)(void *, int64_t, int64_t, wmFftPair, const void *);
    } hosts[] = {{crop_f32}, {crop_f64}, {crop_c64}, {crop_c128}};
    store->source = crops[row_of(d)];
    store->name = "cropped";
    store->host = hosts[row_of(d)].host;
    store->type = d->type;
}

const void *wm_convolve_have(int64_t have) {
    return (const void *)(intptr_t)have;
}

const void *wm_convolve_range(int64_t first, int64_t count) {
    return (const void *)(intptr_t)(first << 32 | count);
}
