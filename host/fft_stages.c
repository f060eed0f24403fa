/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms through packed workspace. */
#include "fft_stages.h"

#include "lib/context.h"
#include "lib/fields.h"
#include "reference/fft_layout.h"

#include <string.h>

enum { ALIGN = 256 };

wm_fft_stored wm_fft_stored_of(const wmFftDesc *d, int output) {
    if (output ? d->store.source != NULL : d->load.source != NULL) return WM_FFT_STORED_BY_FUNCTOR;
    return d->type == WM_F16 ? WM_FFT_STORED_F16 : d->type == WM_BF16 ? WM_FFT_STORED_BF16 : WM_FFT_STORED_AS_IS;
}

/* ---- Cutting ---- */

static int64_t *stride_of(wmFftDim *dim, int output) {
    return output ? &dim->out_stride : &dim->in_stride;
}

/** Lays a side out packed, loops outside the axes; gives its elements. */
static int64_t pack(wmFftDesc *d, int output) {
    int64_t n[WM_FFT_MAX_RANK] = {0};
    for (int i = 0; i < d->rank; i++) n[i] = d->dim[i].n;
    wmFftDesc packed = wm_fft_packed(d->kind, d->type, d->rank, n, 2, d->placement);
    for (int i = 0; i < d->rank; i++) *stride_of(&d->dim[i], output) = *stride_of(&packed.dim[i], output);
    int64_t elements = *stride_of(&packed.loop[0], output);
    for (int i = d->loops - 1; i >= 0; i--) {
        *stride_of(&d->loop[i], output) = elements;
        elements *= d->loop[i].n;
    }
    return elements;
}

static int is_complex(const wmFftDesc *d, int output) {
    return d->kind == WM_FFT_C2C || (d->kind == WM_FFT_R2C) == output;
}

/** Of elements without functors all that counts is where they are: neighbours come first, what continues is merged. */
static void list_merged(const wmFftDesc *d, const wmFftDesc *inner, int output, wm_fft_stage *s) {
    wmFftDim dim[WM_FFT_STAGE_DIMS];
    int dims = 0;
    for (int i = 0; i < d->rank; i++) {
        wmFftDim callers = d->dim[i], packed = inner->dim[i];
        dim[dims++] =
            (wmFftDim){wm_fft_length(d, i, output), *stride_of(&callers, output), *stride_of(&packed, output)};
    }
    for (int i = 0; i < d->loops; i++) {
        wmFftDim callers = d->loop[i], packed = inner->loop[i];
        dim[dims++] = (wmFftDim){d->loop[i].n, *stride_of(&callers, output), *stride_of(&packed, output)};
    }
    s->dims = wm_fft_arrange(dim, dims);
    for (int i = 0; i < s->dims; i++)
        s->n[i] = dim[i].n, s->callers[i] = dim[i].in_stride, s->packed[i] = dim[i].out_stride;
}

/** Axes, the last one first, then loops. */
static void list_in_order(const wmFftDesc *d, const wmFftDesc *inner, int output, wm_fft_stage *s) {
    int64_t weight = 1;
    for (int i = d->rank + d->loops - 1; i >= 0; i--) {
        int axis = i - d->loops, at = s->dims++;
        wmFftDim callers = axis < 0 ? d->loop[i] : d->dim[axis], packed = axis < 0 ? inner->loop[i] : inner->dim[axis];
        s->n[at] = axis < 0 ? callers.n : wm_fft_length(d, axis, output);
        s->callers[at] = *stride_of(&callers, output);
        s->packed[at] = *stride_of(&packed, output);
        s->weight[at] = axis < 0 ? 0 : weight;
        weight *= s->n[at];
    }
}

static wm_fft_stage stage_of(const wmFftDesc *d, const wmFftDesc *inner, int output) {
    wm_fft_stage s;
    memset(&s, 0, sizeof s);
    s.is_store = output;
    s.stored = wm_fft_stored_of(d, output);
    s.f64 = inner->type == WM_F64;
    s.reals = is_complex(d, output) ? 2 : 1;
    s.apart = d->align && d->align < 4;
    s.count = wm_fft_batch(d);
    for (int i = 0; i < d->rank; i++) s.count *= wm_fft_length(d, i, output);
    if (s.stored == WM_FFT_STORED_BY_FUNCTOR) {
        list_in_order(d, inner, output, &s);
        memcpy(&s.host, output ? (const void *)&d->store.host : (const void *)&d->load.host, sizeof s.host);
    } else {
        list_merged(d, inner, output, &s);
    }
    return s;
}

/** What is left of the problem between its stages; both sides packed share their memory. */
static wmStatus cut(const wmFftDesc *d, wm_fft_stages *s) {
    int load = wm_fft_stored_of(d, 0) != WM_FFT_STORED_AS_IS, store = wm_fft_stored_of(d, 1) != WM_FFT_STORED_AS_IS;
    wmFftDesc inner = *d;
    memset(s, 0, sizeof *s);
    memset(&inner.load, 0, sizeof inner.load);
    memset(&inner.store, 0, sizeof inner.store);
    inner.type = d->type == WM_F64 ? WM_F64 : WM_F32;
    inner.placement = load && store ? WM_IN_PLACE : WM_OUT_OF_PLACE;
    if (load) inner.allow_input_overwrite = 1;
    if (load && store) inner.allow_input_overwrite = 0, inner.align = 0;
    int64_t in = load ? pack(&inner, 0) * (is_complex(d, 0) ? 2 : 1) : 0;
    int64_t out = store ? pack(&inner, 1) * (is_complex(d, 1) ? 2 : 1) : 0;
    s->bytes = ((size_t)(in > out ? in : out) * wmTypeSize(inner.type) + ALIGN - 1) / ALIGN * ALIGN;
    if (inner.align && inner.align < (int64_t)wmTypeSize(inner.type)) inner.align = (int64_t)wmTypeSize(inner.type);
    if (load) s->load = stage_of(d, &inner, 0);
    if (store) s->store = stage_of(d, &inner, 1);
    return wm_problem_from_fft(&s->inner.problem, &inner, d->place);
}

/* ---- Offering, making, running ---- */

/** A scattered side may cost a sector an element; 0.8 of the bandwidth otherwise. */
static double stage_seconds(wmContext *context, const wmFftDesc *d, const wm_fft_stage *s) {
    double element = (double)wmTypeSize(wm_fft_side_type(d, s->is_store)) + s->reals * (s->f64 ? 8 : 4);
    int apart = s->dims && (s->callers[0] > 1 || s->packed[0] > 1);
    if (!s->count) return 0;
    return (wm_context_gpu(context) ? 3e-6 : 0) +
           (apart ? 2 : 1.25) * element * (double)s->count / wm_context_bandwidth(context);
}

int wm_fft_stages_offer(wmContext *context, const wm_problem *problem, wm_fft_stages *s, wm_offer *offer, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    if (wm_fft_stored_of(d, 0) == WM_FFT_STORED_AS_IS && wm_fft_stored_of(d, 1) == WM_FFT_STORED_AS_IS)
        return wm_refuse(why, "neither elements of 16 bits nor functors: others do it at once");
    if (wm_problem_empty(problem)) return wm_refuse(why, "there is nothing to transform");
    if (cut(d, s) != WM_OK) return wm_refuse(why, "its packed form is too large");
    if (!wm_inner_choose(context, &s->inner, SIZE_MAX, why)) return 0;
    *offer = s->inner.offer;
    memset(offer->knob, 0, sizeof offer->knob);
    offer->seconds += stage_seconds(context, d, &s->load) + stage_seconds(context, d, &s->store);
    offer->workspace += s->bytes;
    return 1;
}

wmStatus wm_fft_stages_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, wm_fft_stages *s) {
    WM_TRY(cut(&problem->u.fft, s));
    if (!wm_inner_choose(context, &s->inner, offer->workspace - s->bytes, NULL))
        return wm_fail(WM_ERR_UNSUPPORTED, "no solver does the transform between its stages any more");
    return wm_inner_make(context, &s->inner);
}

void wm_fft_stages_drop(wmContext *context, wm_fft_stages *s) {
    wm_inner_drop(context, &s->inner);
}

wmStatus wm_fft_stages_run(const wm_run *run, const wm_fft_stages *s, wm_fft_stage_doer doer) {
    const wmFftArgs *args = &run->args->fft;
    char *packed = (char *)run->workspace;
    wm_fft_stage load = s->load, store = s->store;
    wm_args inner;
    memset(&inner, 0, sizeof inner);
    inner.fft = wmFftArgsDefault(load.count ? packed : args->in, store.count ? packed : args->out);
    load.from = args->in, load.to = packed, load.user = args->load_user;
    store.from = packed, store.to = args->out, store.user = args->store_user;
    if (load.count) WM_TRY(doer(run, &load));
    WM_TRY(wm_inner_run(run, &s->inner, &inner, packed + s->bytes));
    return store.count ? doer(run, &store) : WM_OK;
}
