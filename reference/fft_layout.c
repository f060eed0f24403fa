/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of transforms: overlap, and packed copies of the input. */
#include "fft_layout.h"

#include <string.h>

#include <math.h>

enum { DIMS = WM_FFT_MAX_RANK + WM_FFT_MAX_LOOPS };

int wm_fft_arrange(wmFftDim *loop, int loops) {
    for (int i = 1; i < loops; i++)
        for (int j = i; j > 0; j--) {
            wmFftDim t = loop[j], u = loop[j - 1];
            if (t.in_stride + t.out_stride >= u.in_stride + u.out_stride) break;
            loop[j] = u, loop[j - 1] = t;
        }
    int kept = 0;
    for (int i = 0; i < loops; i++) {
        wmFftDim *last = kept ? &loop[kept - 1] : NULL;
        if (last && loop[i].in_stride == last->in_stride * last->n &&
            loop[i].out_stride == last->out_stride * last->n) {
            last->n *= loop[i].n;
        } else if (loop[i].n != 1) {
            loop[kept++] = loop[i];
        }
    }
    return kept;
}

double wm_fft_scale(const wmFftDesc *desc) {
    double points = 1;
    for (int i = 0; i < desc->rank; i++) points *= (double)desc->dim[i].n;
    if (desc->scale == WM_FFT_SCALE_BY_N) return 1 / points;
    return desc->scale == WM_FFT_SCALE_BY_SQRT_N ? 1 / sqrt(points) : 1;
}

/* ---- One side of the data as nested loops ---- */

typedef struct side {
    int64_t n[DIMS], stride[DIMS]; /* loops, then axes, outermost first */
    int64_t at[DIMS], offset;      /* the row that a walk has come to, and where it begins, in elements */
    int dims;
} side;

static side side_of(const wmFftDesc *desc, int output) {
    side s = {.dims = 0};
    for (int i = 0; i < desc->loops + desc->rank; i++) {
        const wmFftDim *dim = i < desc->loops ? &desc->loop[i] : &desc->dim[i - desc->loops];
        s.n[s.dims] = dim->n;
        s.stride[s.dims++] = output ? dim->out_stride : dim->in_stride;
    }
    if (desc->kind == (output ? WM_FFT_R2C : WM_FFT_C2R)) s.n[s.dims - 1] = s.n[s.dims - 1] / 2 + 1;
    return s;
}

static int64_t elements(const side *s) {
    int64_t all = 1;
    for (int i = 0; i < s->dims; i++) all *= s->n[i];
    return all;
}

/** On to the next row, that is the next run along the last axis; 0 behind the last one. */
static int next_row(side *s) {
    for (int i = s->dims - 2; i >= 0; i--) {
        s->offset += s->stride[i];
        if (++s->at[i] < s->n[i]) return 1;
        s->offset -= s->stride[i] * s->n[i];
        s->at[i] = 0;
    }
    return 0;
}

/* ---- Overlap ---- */

int wm_fft_input_disjoint(const wmFftDesc *desc) {
    side s = side_of(desc, 0);
    for (int i = 1; i < s.dims; i++)
        for (int j = i; j > 0 && s.stride[j] < s.stride[j - 1]; j--) {
            int64_t stride = s.stride[j], n = s.n[j];
            s.stride[j] = s.stride[j - 1], s.stride[j - 1] = stride;
            s.n[j] = s.n[j - 1], s.n[j - 1] = n;
        }
    int64_t span = 1; /* of what lies inside */
    for (int i = 0; i < s.dims; i++) {
        if (s.n[i] < 2) continue;
        if (s.stride[i] < span) return 0;
        span += (s.n[i] - 1) * s.stride[i];
    }
    return 1;
}

int wm_fft_may_overwrite(const wmFftDesc *desc) {
    return desc->placement == WM_IN_PLACE || (desc->allow_input_overwrite && wm_fft_input_disjoint(desc));
}

/* ---- Packed copies, scaling ---- */

int64_t wm_fft_input_elements(const wmFftDesc *desc) {
    side s = side_of(desc, 0);
    return elements(&s);
}

wmFftDesc wm_fft_from_packed(const wmFftDesc *desc) {
    wmFftDesc packed = *desc;
    side s = side_of(desc, 0);
    int64_t stride = 1;
    packed.placement = WM_OUT_OF_PLACE;
    packed.allow_input_overwrite = 1;
    for (int i = s.dims - 1; i >= 0; stride *= s.n[i--])
        *(i < desc->loops ? &packed.loop[i].in_stride : &packed.dim[i - desc->loops].in_stride) = stride;
    return packed;
}

void wm_fft_pack_input(const wmFftDesc *desc, size_t size, const void *in, void *packed) {
    side s = side_of(desc, 0);
    int64_t n = s.n[s.dims - 1], stride = s.stride[s.dims - 1];
    char *to = packed;
    if (!elements(&s)) return;
    do {
        const char *from = (const char *)in + s.offset * (int64_t)size;
        if (stride == 1) memcpy(to, from, (size_t)n * size);
        for (int64_t k = 0; stride != 1 && k < n; k++)
            memcpy(to + k * (int64_t)size, from + k * stride * (int64_t)size, size);
        to += n * (int64_t)size;
    } while (next_row(&s));
}

void wm_fft_scale_output(const wmFftDesc *desc, double scale, void *out) {
    side s = side_of(desc, 1);
    int64_t reals = desc->kind == WM_FFT_C2R ? 1 : 2, n = s.n[s.dims - 1], stride = s.stride[s.dims - 1];
    if (!elements(&s)) return;
    do {
        for (int64_t k = 0; k < n * reals; k++) {
            int64_t at = (s.offset + k / reals * stride) * reals + k % reals;
            if (desc->type == WM_F64) {
                ((double *)out)[at] *= scale;
            } else {
                ((float *)out)[at] *= (float)scale;
            }
        }
    } while (next_row(&s));
}
