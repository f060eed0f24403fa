/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with cuFFT's soname and the part of its interface that host/cufft.c uses, for machines without a GPU: each
 * transform is computed by its definition on the fake device's memory, from the strides that cuFFT documents. It is as
 * unkind as the original: C2R destroys its input, the work area is scribbled over, a missing one is refused.
 */
#include "reference/oracle_fft.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { HANDLES = 8, SUCCESS = 0, INVALID_PLAN = 1, INVALID_VALUE = 4, NO_WORKSPACE = 12 };
enum { FAKE_C2R = 0x2c, FAKE_R2C = 0x2a, FAKE_DOUBLE = 0x40 };

/* The test program's: what we write to the fake device's memory counts as written. */
__attribute__((weak)) void wm_area_mark(void *to, const void *from, size_t bytes);

typedef struct plan {
    int used, made, own_memory;
    wmFftDesc desc;
    size_t work;
    void *area;
} plan;

static plan plans[HANDLES];

EXPORT int cufftGetProperty(int part, int *value) {
    *value = part == 0 ? 12 : 0;
    return SUCCESS;
}

EXPORT int cufftXtExec(int handle, void *in, void *out, int direction) {
    (void)handle, (void)in, (void)out, (void)direction;
    return INVALID_VALUE; /* never called; its presence tells a cuFFT */
}

EXPORT int cufftCreate(int *handle) {
    for (int i = 0; i < HANDLES; i++) {
        if (plans[i].used) continue;
        plans[i] = (plan){.used = 1, .own_memory = 1};
        *handle = i;
        return SUCCESS;
    }
    return INVALID_VALUE;
}

EXPORT int cufftDestroy(int handle) {
    plans[handle].used = 0;
    return SUCCESS;
}

EXPORT int cufftSetAutoAllocation(int handle, int yes) {
    plans[handle].own_memory = yes;
    return SUCCESS;
}

static size_t work_of(int rank, const long long *n) {
    int power = (n[0] & (n[0] - 1)) == 0;
    return rank == 1 && power ? 0 : (size_t)(n[0] * 24 + rank); /* any odd number of bytes */
}

EXPORT int cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                             int odist, int type, int batch, size_t *bytes) {
    (void)inembed, (void)istride, (void)idist, (void)onembed, (void)ostride, (void)odist, (void)type, (void)batch;
    long long first = n[0];
    *bytes = work_of(rank, &first);
    return SUCCESS;
}

EXPORT int cufftMakePlanMany64(int handle, int rank, long long *n, long long *inembed, long long istride,
                               long long idist, long long *onembed, long long ostride, long long odist, int type,
                               long long batch, size_t *bytes) {
    plan *p = &plans[handle];
    wmFftDesc *d = &p->desc;
    int kind = type & ~FAKE_DOUBLE;
    if (!p->used || p->made || p->own_memory) return INVALID_PLAN;
    if (rank < 1 || rank > 3 || istride < 1 || ostride < 1 || batch < 1) return INVALID_VALUE;
    *d = (wmFftDesc){.kind = kind == FAKE_R2C   ? WM_FFT_R2C
                             : kind == FAKE_C2R ? WM_FFT_C2R
                                                : WM_FFT_C2C,
                     .type = type & FAKE_DOUBLE ? WM_F64 : WM_F32,
                     .direction = kind == FAKE_C2R ? WM_INVERSE : WM_FORWARD,
                     .rank = rank,
                     .loops = 1};
    d->loop[0] = (wmFftDim){batch, idist, odist};
    for (int i = rank - 1; i >= 0; i--) {
        d->dim[i] = (wmFftDim){n[i], istride, ostride};
        istride *= inembed[i];
        ostride *= onembed[i];
    }
    p->made = 1;
    *bytes = p->work = work_of(rank, n);
    return SUCCESS;
}

EXPORT int cufftSetStream(int handle, void *stream) {
    (void)stream;
    return plans[handle].made ? SUCCESS : INVALID_PLAN;
}

EXPORT int cufftSetWorkArea(int handle, void *area) {
    plans[handle].area = area;
    return SUCCESS;
}

static void put(wmType type, void *at, int64_t i, long double x) {
    if (type == WM_F64) {
        ((double *)at)[i] = (double)x;
    } else {
        ((float *)at)[i] = (float)x;
    }
    char *to = (char *)at + i * (int64_t)(type == WM_F64 ? 8 : 4);
    if (wm_area_mark) wm_area_mark(to, &x, type == WM_F64 ? 8 : 4);
}

static void write_array(const wm_oracle_fft *oracle, int64_t number, const wm_root *values, void *out) {
    const wmFftDesc *d = &oracle->desc;
    int pairs = d->kind != WM_FFT_C2R;
    int64_t index[3] = {number, 0, 0}, k[3];
    for (k[0] = 0; k[0] < oracle->out[0]; k[0]++)
        for (k[1] = 0; k[1] < oracle->out[1]; k[1]++)
            for (k[2] = 0; k[2] < oracle->out[2]; k[2]++, values++) {
                int64_t at = wm_oracle_fft_offset(oracle, index, k);
                put(d->type, out, pairs ? 2 * at : at, values->re);
                if (pairs) put(d->type, out, 2 * at + 1, values->im);
            }
}

static void destroy_input(const wm_oracle_fft *oracle, int64_t number, void *in) {
    wm_oracle_fft side = *oracle; /* the input, seen as an output */
    int64_t index[3] = {number, 0, 0}, k[3];
    for (int i = 0; i < 3; i++) side.desc.dim[i].out_stride = side.desc.dim[i].in_stride;
    side.desc.loop[0].out_stride = side.desc.loop[0].in_stride;
    for (k[0] = 0; k[0] < side.in[0]; k[0]++)
        for (k[1] = 0; k[1] < side.in[1]; k[1]++)
            for (k[2] = 0; k[2] < side.in[2]; k[2]++) {
                int64_t at = wm_oracle_fft_offset(&side, index, k);
                put(side.desc.type, in, 2 * at, 12345);
                put(side.desc.type, in, 2 * at + 1, -12345);
            }
}

static int execute(int handle, void *in, void *out, wmDirection direction) {
    plan *p = &plans[handle];
    wmFftDesc d = p->desc;
    wm_oracle_fft oracle;
    if (!p->made) return INVALID_PLAN;
    if (p->work && !p->area) return NO_WORKSPACE;
    if (p->work) memset(p->area, 0x7f, p->work);
    d.direction = direction;
    if (wm_oracle_fft_make(&oracle, &d)) return INVALID_VALUE;
    wm_root *scratch = malloc((size_t)wm_oracle_fft_scratch(&oracle) * sizeof *scratch);
    for (int64_t number = 0; scratch && number < d.loop[0].n; number++) {
        int64_t index[3] = {number, 0, 0};
        const wm_root *values = wm_oracle_fft_array(&oracle, in, index, scratch);
        if (d.kind == WM_FFT_C2R) destroy_input(&oracle, number, in);
        write_array(&oracle, number, values, out);
    }
    free(scratch);
    wm_oracle_fft_drop(&oracle);
    return scratch ? SUCCESS : INVALID_VALUE;
}

EXPORT int cufftExecC2C(int handle, void *in, void *out, int direction) {
    return execute(handle, in, out, direction == -1 ? WM_FORWARD : WM_INVERSE);
}

EXPORT int cufftExecZ2Z(int handle, void *in, void *out, int direction) {
    return execute(handle, in, out, direction == -1 ? WM_FORWARD : WM_INVERSE);
}

EXPORT int cufftExecR2C(int handle, void *in, void *out) {
    return execute(handle, in, out, WM_FORWARD);
}

EXPORT int cufftExecD2Z(int handle, void *in, void *out) {
    return execute(handle, in, out, WM_FORWARD);
}

EXPORT int cufftExecC2R(int handle, void *in, void *out) {
    return execute(handle, in, out, WM_INVERSE);
}

EXPORT int cufftExecZ2D(int handle, void *in, void *out) {
    return execute(handle, in, out, WM_INVERSE);
}
