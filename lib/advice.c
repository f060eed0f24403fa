/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: the problem with one thing changed, estimated again; and what was left out of the search. */
#include "advice.h"
#include "context_internal.h"
#include "fields.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct list {
    const wmPlan *plan;
    wm_advice *advice;
    int count;
    double now; /* the estimate of the problem as it is */
} list;

static void add(list *l, double to, const char *format, ...) WM_PRINTF(3, 4);

static void add(list *l, double to, const char *format, ...) {
    if (l->count == WM_MOST_ADVICE) return;
    wm_advice *advice = &l->advice[l->count++];
    va_list rest;
    va_start(rest, format);
    vsnprintf(advice->text, sizeof advice->text, format, rest);
    va_end(rest);
    advice->from = to > 0 ? l->now : 0;
    advice->to = to;
}

/* The best estimate of a changed problem; 0 if nobody offers or it is not worth a line. */
static double price(const list *l, const wm_problem *changed) {
    wm_found found;
    double seconds = 0;
    if (wm_search_offers(l->plan->context, changed, 0, &found) == WM_OK) {
        int best = wm_best_estimate(&found);
        if (best >= 0) seconds = found.candidate[best].offer.seconds;
    }
    wm_found_free(&found);
    return seconds < 0.97 * l->now ? seconds : 0;
}

/* ---- Products ---- */

/* The leading dimension rounded up to 16 bytes, the pointer aligned to as much; 1 if that changes anything. */
static int align_matrix(wmMatmulDesc *d, wmMatrixDesc *matrix, char which) {
    int64_t element = (int64_t)wmTypeSize(matrix->type), unit = element < 16 ? 16 / element : 1;
    int64_t ld = (matrix->ld + unit - 1) / unit * unit;
    if (ld == matrix->ld && matrix->align >= 16) return 0;
    wm_shape shape = wm_matmul_shape(d, which);
    int64_t outer = matrix->order == WM_COL_MAJOR ? shape.cols : shape.rows;
    if (matrix->batch_stride != 0 && matrix->batch_stride < ld * outer) matrix->batch_stride = ld * outer;
    matrix->ld = ld;
    if (matrix->align < 16) matrix->align = 16;
    return 1;
}

static void advise_alignment(list *l) {
    wm_problem all = l->plan->problem;
    wmMatmulDesc *d = &all.u.matmul;
    wmMatrixDesc *const matrices[] = {&d->a, &d->b, &d->d};
    char text[160] = "";
    int changed = 0;
    for (int i = 0; i < 3; i++) {
        wm_problem one = l->plan->problem;
        wmMatrixDesc *const same[] = {&one.u.matmul.a, &one.u.matmul.b, &one.u.matmul.d};
        int64_t ld = matrices[i]->ld, align = matrices[i]->align;
        if (!align_matrix(d, matrices[i], "abd"[i])) continue;
        (void)align_matrix(&one.u.matmul, same[i], "abd"[i]);
        changed++;
        if (matrices[i]->ld != ld) {
            wm_append(text, sizeof text, "%s%c.ld %lld -> %lld", text[0] ? ", " : "", "abd"[i], (long long)ld,
                      (long long)matrices[i] -> ld);
        }
        if (matrices[i]->align != align) {
            wm_append(text, sizeof text, "%s%c.align %lld -> %lld", text[0] ? ", " : "", "abd"[i], (long long)align,
                      (long long)matrices[i] -> align);
        }
        double seconds = price(l, &one);
        if (seconds > 0)
            add(l, seconds, "%c.ld %lld -> %lld, %c.align %lld -> %lld", "abd"[i], (long long)ld,
                (long long)matrices[i] -> ld, "abd"[i], (long long)align, (long long)matrices[i] -> align);
    }
    double seconds = changed > 1 ? price(l, &all) : 0;
    if (seconds > 0) add(l, seconds, "%s", text);
}

static void advise_compute(list *l) {
    wm_problem changed = l->plan->problem;
    if (changed.u.matmul.compute != WM_COMPUTE_F32 && changed.u.matmul.compute != WM_COMPUTE_F32_STRICT) return;
    if (changed.u.matmul.a.type != WM_F32) return;
    changed.u.matmul.compute = WM_COMPUTE_TF32;
    double seconds = price(l, &changed);
    if (seconds > 0) add(l, seconds, "compute tf32, if operands of 11 significant bits will do");
}

/* ---- Transforms ---- */

static int is_smooth(int64_t n) {
    static const int primes[] = {2, 3, 5, 7};
    for (int i = 0; i < 4; i++) {
        while (n % primes[i] == 0) n /= primes[i];
    }
    return n == 1;
}

static void advise_lengths(list *l) {
    const wmFftDesc *d = &l->plan->problem.u.fft;
    for (int i = 0; i < d->rank; i++) {
        int64_t n = d->dim[i].n, smooth = n;
        if (n > (int64_t)1 << 40 || is_smooth(n)) continue;
        while (!is_smooth(smooth)) smooth++;
        /* The layout's strides stay: only the length is priced. */
        wm_problem changed = l->plan->problem;
        changed.u.fft.dim[i].n = smooth;
        double seconds = price(l, &changed);
        if (seconds > 0) {
            add(l, seconds, "dim[%d].n %lld -> %lld, if the data may be padded", i, (long long)n, (long long)smooth);
        }
    }
}

/* ---- Any plan ---- */

static void advise_search(list *l) {
    const wm_found *found = &l->plan->found;
    if (found->by == WM_BY_ESTIMATE && found->count > 1) {
        int ended = strstr(found->note, "the budget of") != NULL;
        add(l, 0, "%sWM_MEASURE, which has %d candidates to time", ended ? "a larger budget for " : "", found->count);
    }
    for (int i = 0; i < found->refusals; i++) {
        const char *why = found->refusal[i].why.text;
        if (strstr(why, "absent")) add(l, 0, "installing the library of %s", found->refusal[i].solver->name);
        if (strstr(why, "bytes of workspace")) {
            add(l, 0, "a larger workspace_limit for %s: %s", found->refusal[i].solver->name, why);
        }
        if (strstr(why, "not verified")) {
            add(l, 0, "WARPMATH_UNVERIFIED=1, which lets %s offer", found->refusal[i].solver->name);
        }
    }
}

int wm_advise(const wmPlan *plan, wm_advice out[WM_MOST_ADVICE]) {
    list l = {.plan = plan, .advice = out};
    if (plan->found.chosen < 0) return 0;
    int best = wm_best_estimate(&plan->found);
    l.now = best >= 0 ? plan->found.candidate[best].offer.seconds : 0;
    if (plan->problem.op == WM_MATMUL) {
        advise_alignment(&l);
        advise_compute(&l);
    } else if (plan->problem.op == WM_FFT) {
        advise_lengths(&l);
    }
    advise_search(&l);
    return l.count;
}
