/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a transform for one block. All factorisations of the length into radices of up to 32 are weighed by the issue
 * slots that a point costs: arithmetic and exchange of each pass, and the threads that a pass leaves idle.
 */
#include "fft_cut_internal.h"
#include "lib/fields.h"
#include "lib/text.h"
#include "reference/fft_layout.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PRIME = 31, SM_REGISTERS = 65536, SM_SHARED = 228 * 1024, SPREAD_BYTES = 128 };

static int greatest_prime(int64_t n) {
    int64_t greatest = 1;
    for (int64_t p = 2; p * p <= n; p++)
        while (n % p == 0) greatest = p, n /= p;
    return (int)(n > greatest ? n : greatest);
}

static int is_prime(int64_t n) {
    return n > 1 && greatest_prime(n) == n;
}

/* ---- Form and core ---- */

/** The cheapest length of a convolution: smooth, and not much longer than it must be. */
static int padded_length(int least) {
    for (int n = least;; n++)
        if (greatest_prime(n) <= 7) return n;
}

static int is_spread(const wmFftDesc *d) {
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    int loops = wm_fft_arrange(loop, d->loops);
    int unit = d->dim[0].in_stride == 1 && d->dim[0].out_stride == 1;
    return !unit && loops && loop[0].in_stride + loop[0].out_stride < d->dim[0].in_stride + d->dim[0].out_stride;
}

int wm_fft_outline_of(const wmFftDesc *d, wm_fft_outline *o, wm_why *why) {
    int64_t n = d->dim[0].n;
    *o = (wm_fft_outline){.f64 = d->type == WM_F64, .spread = is_spread(d)};
    if (n < 2 || n > 1 << 16) return wm_refuse(why, "n = %lld does not fit a block", (long long)n);
    int even = n % 2 == 0 && n > 2;
    if (d->kind == WM_FFT_R2C) o->form = even ? WM_FFT_REAL_EVEN : WM_FFT_REAL_ANY;
    if (d->kind == WM_FFT_C2R) o->form = even ? WM_FFT_HALF_EVEN : WM_FFT_HALF_ANY;
    o->length = (int)(o->form == WM_FFT_REAL_EVEN || o->form == WM_FFT_HALF_EVEN ? n / 2 : n);
    o->n = o->length;
    if (greatest_prime(o->length) <= MOST_PRIME) return 1;
    if (is_prime(o->length) && greatest_prime(o->length - 1) <= MOST_PRIME) {
        o->core = WM_FFT_RADER;
        o->n = o->length - 1;
    } else {
        o->core = WM_FFT_BLUESTEIN;
        o->n = padded_length(2 * o->length - 1);
    }
    return 1;
}

/* ---- What a radix costs ---- */

/** Arithmetic instructions a point of a butterfly. */
static double radix_work(int r) {
    static const double small[17] = {0, 0, 2, 5.4, 4, 8, 7.4, 13, 7, 10.8, 10, 21, 9.4, 26, 15, 13.4, 10.5};
    if (r <= 16) return small[r];
    if (is_prime(r)) return 2.0 * r - 1;
    int p = greatest_prime(r);
    return radix_work(p) + radix_work(r / p) + 2;
}

/** Of the time that the memory takes for a point: what a pass needs to issue, and to move through the L1 cache. */
typedef struct load {
    double issue, cache;
} load;

static load pass_load(const wm_fft_outline *o, int weight, int pass, int radix, int threads, int last) {
    int pairs = (last && o->form == WM_FFT_REAL_EVEN) || (pass == 0 && o->form == WM_FFT_HALF_EVEN);
    int butterflies = pairs ? (o->n / radix + 1) / 2 : o->n / radix, rounds = (butterflies + threads - 1) / threads;
    double used = (double)butterflies / ((double)rounds * threads), size = o->f64 ? 2 : 1;
    double twiddles = last ? 0 : (2 * sqrt(radix) - 2) / radix * (weight < 32 ? weight / 32.0 : 1);
    double exchanged = (pass > 0) + !last, uneven = weight % 16 ? 1.3 : 1;
    double work = radix_work(radix) + 10 + (last ? 0 : 6) + (pairs ? 10 + radix * size * (last ? 3 : 1) : 0);
    return (load){work * size / (0.6 + 0.4 * used) / 110, /* idle warps issue nothing, but hide nothing */
                  (1 + exchanged * uneven + twiddles) * size / 14};
}

/* ---- Factorisations ---- */

typedef struct search {
    const wm_fft_outline *o;
    int64_t shared;
    int radix[WM_FFT_MOST_PASSES];
    wm_fft_knobs *best;
    int count;
} search;

/** Complex numbers that fit the registers of a thread. */
static int most_elements(const wm_fft_outline *o) {
    return o->f64 ? 16 : 32;
}

static int radix_at(const wm_fft_knobs *k, int pass) {
    return pass < WM_FFT_MOST_PASSES ? ((k->radices >> (5 * pass)) & 31) + 1 : 1;
}

static void keep(search *s, const wm_fft_knobs *k) {
    int at = s->count;
    for (int i = 0; i < s->count; i++) {
        const wm_fft_knobs *other = &s->best[i];
        if (other->radices == k->radices && other->threads == k->threads) return;
    }
    while (at > 0 && s->best[at - 1].cost > k->cost) at--;
    if (at == WM_FFT_MOST_CUTS) return;
    if (s->count < WM_FFT_MOST_CUTS) s->count++;
    for (int i = s->count - 1; i > at; i--) s->best[i] = s->best[i - 1];
    s->best[at] = *k;
}

/** Registers of a thread, roughly. */
static int registers_of(const wm_fft_outline *o, int elements) {
    int all = 30 + elements * (o->f64 ? 5 : 3);
    return all > 255 ? 255 : (all + 7) / 8 * 8;
}

/** Transforms a block, and blocks an SM. */
static int choose_batch(const search *s, wm_fft_knobs *k, int elements) {
    const wm_fft_outline *o = s->o;
    int size = o->f64 ? 16 : 8, t = k->threads;
    int64_t slab = (int64_t)size * (o->n + o->n / 16 + 20);
    int want = o->spread ? SPREAD_BYTES / size : (128 + t - 1) / t;
    while (o->spread && t * want < 128) want *= 2;
    while (o->spread && want > 1 && (t * want > 1024 || slab * want > s->shared)) want /= 2; /* whole sectors */
    while (!o->spread && want > 1 && (t * want > 256 || slab * want > s->shared / 3)) want--;
    if (slab * want > s->shared) slab = (int64_t)size * (o->n + 3); /* without any pad */
    if (slab * want > s->shared || t * want > 1024) return 0;
    int threads = (t * want + 31) / 32 * 32;
    int by_registers = SM_REGISTERS / (threads * registers_of(o, elements));
    int by_shared = (int)(SM_SHARED / (slab * want + 1024)), by_threads = 2048 / threads;
    k->batch = want;
    k->blocks = by_registers < by_shared ? by_registers : by_shared;
    if (k->blocks > by_threads) k->blocks = by_threads;
    if (k->blocks > 16) k->blocks = 16;
    if (k->blocks < 1) k->blocks = 1;
    return threads * registers_of(o, elements) <= SM_REGISTERS + 4096;
}

static double cost_of(const wm_fft_outline *o, load all) {
    double twice = o->core == WM_FFT_PLAIN ? 1 : 2;
    return sqrt(1 + twice * all.issue * twice * all.issue + twice * all.cache * twice * all.cache);
}

/** Whether what costs so much at least cannot be among the best: whatever is said of its threads makes it dearer, but
 * for spread ones. */
static int is_hopeless(const search *s, double least) {
    return !s->o->spread && s->count == WM_FFT_MOST_CUTS && least >= s->best[s->count - 1].cost;
}

static void weigh(search *s, int passes, int threads) {
    const wm_fft_outline *o = s->o;
    wm_fft_knobs k = {.threads = threads};
    int elements = 0, ahead = 0, n = o->n;
    if (threads < 1 || threads > 1024) return;
    load all = {0, 0};
    for (int i = 0, weight = n; i < passes; i++) {
        int rounds = (n / s->radix[i] + threads - 1) / threads;
        if (rounds > 8 || is_hopeless(s, cost_of(o, all))) return;
        weight /= s->radix[i];
        if (i == 0 && rounds * s->radix[i] <= most_elements(o)) elements = ahead = rounds * s->radix[i];
        if (s->radix[i] > elements) elements = s->radix[i];
        load one = pass_load(o, weight, i, s->radix[i], threads, i + 1 == passes);
        all.issue += one.issue;
        all.cache += one.cache;
        k.radices |= (s->radix[i] - 1) << (5 * i);
    }
    if (is_hopeless(s, cost_of(o, all))) return;
    if (!choose_batch(s, &k, elements)) return;
    int real = (k.threads * k.batch + 31) / 32 * 32; /* lanes that no transform uses */
    all.issue *= (double)real / (k.threads * k.batch);
    k.cost = cost_of(o, all);
    /* Waiting is hidden by other warps, and by what a thread has on its way. */
    double warps = (double)k.blocks * real / 32;
    if (warps < 24) k.cost *= pow(24 / warps, 0.4);
    if (k.blocks == 1) k.cost *= 1.2;
    if (ahead * (o->f64 ? 2 : 1) > 16) k.cost *= 1.15;
    int run = threads < n / s->radix[0] ? threads : n / s->radix[0]; /* neighbours in memory */
    double bytes = run * (o->f64 ? 16 : 8);
    if (o->spread) k.cost *= pow(128.0 / (k.batch * (o->f64 ? 16 : 8)), 0.6);
    if (!o->spread && n > 64 && bytes < 128) k.cost *= bytes < 64 ? 1.6 : 1.2;
    if (!o->spread && bytes < 64) k.cost *= 1.15; /* the slab is filled and drained on top */
    keep(s, &k);
}

/** What the passes cost at least: one thread leaves none idle. */
static load least_load(const search *s, int passes) {
    load all = {0, 0};
    for (int i = 0, weight = s->o->n; i < passes; i++) {
        weight /= s->radix[i];
        load one = pass_load(s->o, weight, i, s->radix[i], 1, i + 1 == passes);
        all.issue += one.issue;
        all.cache += one.cache;
    }
    return all;
}

static void weigh_threads(search *s, int passes) {
    if (is_hopeless(s, cost_of(s->o, least_load(s, passes)))) return;
    for (int i = 0; i < passes; i++) {
        int butterflies = s->o->n / s->radix[i], seen = 0;
        for (int k = 0; k < i; k++) seen = seen || s->radix[k] == s->radix[i];
        for (int rounds = 1; rounds <= 4 && !seen; rounds++) weigh(s, passes, (butterflies + rounds - 1) / rounds);
    }
}

static void factor(search *s, int left, int passes) {
    if (left == 1) {
        weigh_threads(s, passes);
        if (passes < 2 || s->radix[0] == s->radix[passes - 1]) return;
        int first = s->radix[0]; /* the largest at the end: there half of the threads may do without */
        memmove(s->radix, s->radix + 1, (size_t)(passes - 1) * sizeof *s->radix);
        s->radix[passes - 1] = first;
        weigh_threads(s, passes);
        memmove(s->radix + 1, s->radix, (size_t)(passes - 1) * sizeof *s->radix);
        s->radix[0] = first;
        return;
    }
    if (passes == WM_FFT_MOST_PASSES) return;
    for (int r = passes ? s->radix[passes - 1] : WM_FFT_MOST_RADIX; r >= 2; r--) {
        if (left % r) continue;
        if (r > 16 && s->o->f64 && !is_prime(r)) continue;
        s->radix[passes] = r;
        factor(s, left / r, passes + 1);
    }
}

/* ---- What measuring chose ---- */

static void put_measured_first(search *s) {
    const wm_fft_outline *o = s->o;
    int count = 0;
    const wm_fft_measured *all = wm_fft_cut_measured(&count);
    for (int i = 0; i < count && o->core == WM_FFT_PLAIN; i++) {
        const wm_fft_measured *m = &all[i];
        if (m->form != o->form || m->f64 != o->f64 || m->spread != o->spread || m->n != o->n) continue;
        wm_fft_knobs k = {.threads = m->threads, .batch = m->batch, .blocks = m->blocks};
        for (int p = 0; p < WM_FFT_MOST_PASSES && m->radix[p]; p++) k.radices |= (m->radix[p] - 1) << (5 * p);
        if ((int64_t)(o->f64 ? 16 : 8) * (o->n + o->n / 8 + 32) * k.batch > s->shared && k.batch > 1) return;
        if (s->count < WM_FFT_MOST_CUTS) s->count++;
        for (int at = s->count - 1; at > 0; at--) s->best[at] = s->best[at - 1];
        s->best[0] = k;
        return;
    }
}

/* ---- What was weighed before ---- */

/* Weighing takes up to half a millisecond, whatever the batch: programs that plan a length again find it here. */
enum { REMEMBERED = 251 };

typedef struct weighed {
    wm_fft_outline o; /* n 0: nothing yet */
    int64_t shared;
    int count;
    wm_fft_knobs best[WM_FFT_MOST_CUTS];
} weighed;

static weighed remembered[REMEMBERED];
static pthread_mutex_t remembering = PTHREAD_MUTEX_INITIALIZER;

static weighed *slot_of(const wm_fft_outline *o) {
    unsigned hash = (unsigned)o->n * 31u + (unsigned)o->length * 7u + (unsigned)(o->form * 4 + o->f64 * 2 + o->spread);
    return &remembered[hash % REMEMBERED];
}

static int is_same(const wm_fft_outline *a, const wm_fft_outline *b) {
    return a->n == b->n && a->length == b->length && a->form == b->form && a->core == b->core && a->f64 == b->f64 &&
           a->spread == b->spread;
}

static int recall(const wm_fft_outline *o, int64_t shared, wm_fft_knobs out[WM_FFT_MOST_CUTS]) {
    const weighed *slot = slot_of(o);
    pthread_mutex_lock(&remembering);
    int count = slot->shared == shared && is_same(&slot->o, o) ? slot->count : 0;
    if (count) memcpy(out, slot->best, sizeof slot->best);
    pthread_mutex_unlock(&remembering);
    return count;
}

static void remember(const search *s) {
    weighed *slot = slot_of(s->o);
    pthread_mutex_lock(&remembering);
    *slot = (weighed){.o = *s->o, .shared = s->shared, .count = s->count};
    memcpy(slot->best, s->best, (size_t)s->count * sizeof *s->best);
    pthread_mutex_unlock(&remembering);
}

int wm_fft_cut_variants(const wmFftDesc *d, int64_t shared_bytes, wm_fft_knobs out[WM_FFT_MOST_CUTS], wm_why *why) {
    wm_fft_outline o;
    if (!wm_fft_outline_of(d, &o, why)) return 0;
    search s = {.o = &o, .shared = shared_bytes, .best = out};
    if ((int64_t)(o.f64 ? 16 : 8) * (o.n + 3) > shared_bytes)
        return wm_refuse(why, "%d points do not fit the shared memory of a block", o.n);
    s.count = recall(&o, shared_bytes, out);
    if (s.count) return s.count;
    factor(&s, o.n, 0);
    put_measured_first(&s);
    if (!s.count) return wm_refuse(why, "%d has no factors that suit a block", o.n);
    remember(&s);
    return s.count;
}

/* ---- The cut ---- */

static int weight_of(const wm_fft_cut *c, int pass) {
    int weight = c->n;
    for (int i = 0; i <= pass; i++) weight /= c->radix[i];
    return weight;
}

/** Whether real rows are also rows of aligned pairs. */
static int is_paired(const wmFftDesc *d, int output) {
    if (d->align < (int64_t)wmTypeSize(d->type) * 2) return 0;
    for (int i = 0; i < d->loops; i++)
        if ((output ? d->loop[i].out_stride : d->loop[i].in_stride) % 2) return 0;
    return 1;
}

void wm_fft_cut_make(const wmFftDesc *d, const wm_fft_knobs *knobs, wm_fft_cut *c) {
    wm_fft_outline o;
    (void)wm_fft_outline_of(d, &o, NULL);
    *c = (wm_fft_cut){.n = o.n,
                      .threads = knobs->threads,
                      .batch = knobs->batch,
                      .least_blocks = knobs->blocks,
                      .spread = o.spread,
                      .length = o.length,
                      .form = o.form,
                      .core = o.core,
                      .f64 = o.f64};
    c->persist = knobs->persist;
    for (int i = 0; i < WM_FFT_CUT_PASSES; i++) {
        c->radix[i] = radix_at(knobs, i);
        if (c->radix[i] > 1) c->passes = i + 1;
        if (c->radix[i] > c->most) c->most = c->radix[i];
    }
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    c->loops = wm_fft_arrange(loop, d->loops);
    c->packed = c->form == WM_FFT_COMPLEX_FORM && c->core == WM_FFT_PLAIN && d->dim[0].in_stride == 1 &&
                d->dim[0].out_stride == 1 && c->loops <= 1 &&
                (c->loops == 0 || (loop[0].in_stride == c->n && loop[0].out_stride == c->n));
    int rounds = (c->n / c->radix[0] + c->threads - 1) / c->threads, near = o.f64 ? 4 : 8;
    int first = weight_of(c, 0), last = c->n / c->radix[c->passes - 1];
    if (first > c->threads) first = c->threads;
    if (last > c->threads) last = c->threads;
    c->unit_in = d->dim[0].in_stride == 1 && (c->form != WM_FFT_REAL_EVEN || is_paired(d, 0));
    c->unit_out = d->dim[0].out_stride == 1 && (c->form != WM_FFT_HALF_EVEN || is_paired(d, 1));
    c->fill = c->core == WM_FFT_RADER || (!c->spread && first < near);
    c->drain = c->core == WM_FFT_RADER || c->form == WM_FFT_REAL_EVEN ||
               (!c->spread && (c->core == WM_FFT_PLAIN ? last : first) < near);
    c->pairs = c->passes > 1 && c->core == WM_FFT_PLAIN &&
               ((c->form == WM_FFT_REAL_EVEN && (c->spread || last >= 2 * near)) ||
                (c->form == WM_FFT_HALF_EVEN && !c->fill && (c->spread || first >= 2 * near)));
    if (c->pairs && c->form == WM_FFT_REAL_EVEN) c->drain = 0;
    c->ahead = !c->fill && !(c->pairs && c->form == WM_FFT_HALF_EVEN) &&
               (c->passes == 1 || rounds * c->radix[0] <= most_elements(&o));
    if (c->ahead && rounds * c->radix[0] > c->most) c->most = rounds * c->radix[0];
    wm_fft_cut_pads(c, 227 * 1024);
}

size_t wm_fft_cut_shared(const wm_fft_cut *c) {
    if (c->passes == 1 && !c->fill && !c->drain) return 0;
    return (size_t)c->slab * (size_t)c->batch * (c->f64 ? 16 : 8);
}

void wm_fft_cut_job(const wmFftDesc *d, const wm_fft_cut *cut, wm_fft_block_job *job) {
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    *job = (wm_fft_block_job){.in_stride = d->dim[0].in_stride,
                              .out_stride = d->dim[0].out_stride,
                              .count = 1,
                              .sign = d->direction == WM_INVERSE ? -1 : 1,
                              .scale = wm_fft_scale(d),
                              .cut = *cut};
    for (int i = 0, loops = wm_fft_arrange(loop, d->loops); i < loops; i++) {
        job->count *= loop[i].n;
        job->loop_n[i] = loop[i].n;
        job->loop_in[i] = loop[i].in_stride;
        job->loop_out[i] = loop[i].out_stride;
    }
}

void wm_fft_cut_source_of(const wm_fft_cut *cut, const char *header, char *out, size_t room) {
    int value[WM_FFT_CUT_INTS];
    memcpy(value, cut, sizeof value);
    snprintf(out, room, "#define WM_FFT_F64 %d\n#define WM_FFT_CUT ", cut->f64);
    for (int i = 0; i < WM_FFT_CUT_INTS; i++) wm_append(out, room, "%s%d", i ? "," : "", value[i]);
    wm_append(out, room, "\n#include \"%s\"\n", header);
}

void wm_fft_cut_source(const wm_fft_cut *cut, char *out, size_t room) {
    wm_fft_cut_source_of(cut, "device/fft_block.cuh", out, room);
}
