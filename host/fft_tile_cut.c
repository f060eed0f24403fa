/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting packed transforms for the tiles of device/fft_tile.cuh: every order of factors up to 32 in up to three
 * passes, weighed by issue slots and by the bank conflicts of transforms that lie side by side without pads.
 */
#include "fft_tile_cut.h"
#include "fft_cut_internal.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum {
    MOST_PASSES = 3,
    MOST_TILE = 28 * 1024,
    SHARED = 220 * 1024,
    SM_REGISTERS = 65536,
    BANKS = 16,
    SEEN = 128,
    ENDLESS = 1 << 30
};

typedef struct search {
    int n, f64, count;
    int radix[MOST_PASSES];
    int seen_lanes;               /* of what follows; 0: nothing yet */
    double seen[MOST_PASSES + 1]; /* cycles of a pass, and of the last one's results, of these radices and threads */
    wm_fft_tile_knobs *best;
} search;

static int is_prime(int n) {
    for (int p = 2; p * p <= n; p++)
        if (n % p == 0) return 0;
    return n > 1;
}

/* ---- Conflicts ---- */

static int weight_of(const search *s, int pass) {
    int weight = s->n;
    for (int i = 0; i <= pass; i++) weight /= s->radix[i];
    return weight;
}

/** Walks the first elements of a pass's butterflies in order; of the last one, in reversed digits. */
typedef struct walk {
    int at, digits;
    int digit[MOST_PASSES], radix[MOST_PASSES], weight[MOST_PASSES]; /* lowest digit first */
} walk;

static walk start_of(const search *s, int passes, int pass) {
    walk w = {
        .digits = pass < 0 ? 1 : 2, .weight = {1       },
                   .radix = { ENDLESS, ENDLESS}
    };
    if (pass >= 0 && pass + 1 < passes) {
        w.radix[0] = weight_of(s, pass);
        w.weight[1] = w.radix[0] * s->radix[pass];
    } else if (pass >= 0) {
        w.digits = passes - 1;
        for (int i = 0; i < w.digits; i++) w.radix[i] = s->radix[i], w.weight[i] = weight_of(s, i);
    }
    return w;
}

static void step(walk *w) {
    for (int i = 0; i < w->digits; i++) {
        w->at += w->weight[i];
        if (++w->digit[i] < w->radix[i]) return;
        w->at -= w->radix[i] * w->weight[i];
        w->digit[i] = 0;
    }
}

/** Cycles that an access takes for 16 lanes (8 of f64): 1 without conflicts. `pass` < 0: the last one's results. */
static double cycles(const search *s, int passes, int pass, int threads, int all) {
    int lanes = s->f64 ? BANKS / 2 : BANKS, groups = 0, total = 0, thread = 0, row = 0;
    walk start = start_of(s, passes, pass), w = start;
    for (int first = 0; first < all; first += lanes, groups++) {
        int hits[BANKS] = {0}, most = 1;
        for (int i = first; i < first + lanes && i < all; i++) {
            int bank = (row + w.at) & (lanes - 1);
            if (++hits[bank] > most) most = hits[bank];
            step(&w);
            if (++thread < threads) continue;
            thread = 0;
            row += s->n;
            w = start;
        }
        total += most;
    }
    return (double)total / groups;
}

/* ---- Cost ---- */

/** Arithmetic instructions a point. */
static double radix_work(int r) {
    static const double small[17] = {0, 0, 2, 5.4, 4, 8, 7.4, 13, 7, 10.8, 10, 21, 9.4, 26, 15, 13.4, 10.5};
    int p = 2;
    if (r <= 16) return small[r];
    if (is_prime(r)) return 2.0 * r - 1;
    while (r % p) p++;
    return radix_work(p) + radix_work(r / p) + 2;
}

static void keep(search *s, const wm_fft_tile_knobs *k) {
    int at = s->count;
    for (int i = 0; i < s->count; i++) /* one of each; of short transforms, whose tile matters most, one of each tile */
        if (s->best[i].radices == k->radices && s->best[i].threads == k->threads && s->best[i].padded == k->padded &&
            (s->n > 32 || s->best[i].batch == k->batch)) {
            if (s->best[i].cost <= k->cost) return;
            for (int j = i; j + 1 < s->count; j++) s->best[j] = s->best[j + 1];
            at = --s->count;
        }
    while (at > 0 && s->best[at - 1].cost > k->cost) at--;
    if (at == WM_FFT_MOST_CUTS) return;
    if (s->count < WM_FFT_MOST_CUTS) s->count++;
    for (int i = s->count - 1; i > at; i--) s->best[i] = s->best[i - 1];
    s->best[at] = *k;
}

/** Elements of a transform in shared memory, about. */
static int slab_of(const search *s, const wm_fft_tile_knobs *k) {
    return k->padded ? s->n + s->n / 32 + 32 : s->n;
}

/** Transforms a tile of about so many threads, and blocks an SM; 0: it does not fit. */
static int choose_tile(const search *s, wm_fft_tile_knobs *k, int elements, int wanted) {
    int size = s->f64 ? 16 : 8, even = !s->f64 && s->n % 2, step = even ? 2 : 1;
    int slab = slab_of(s, k), most = MOST_TILE / (slab * size) / step * step;
    k->batch = (wanted + k->threads - 1) / k->threads;
    if (k->batch > most) k->batch = most;
    k->batch = k->batch < step ? step : k->batch / step * step;
    int tile = k->batch * slab * size, threads = k->threads * k->batch;
    if (threads > 1024) return 0;
    if (tile * k->stages > SHARED) return 0;
    int warps = (threads + 31) / 32, registers = 34 + elements * (s->f64 ? 5 : 3);
    if (registers > 255) registers = 255;
    if (registers > 128 && registers <= 140) registers = 128; /* the compiler manages */
    int by_registers = SM_REGISTERS / (warps * 32 * registers), by_shared = SHARED / (tile * k->stages + 1024);
    int by_threads = 64 / warps;
    k->blocks = by_registers < by_shared ? by_registers : by_shared;
    if (k->blocks > by_threads) k->blocks = by_threads;
    if (k->blocks > 16) k->blocks = 16;
    return k->blocks >= 1;
}

typedef struct load {
    double issue, cache; /* cycles of an SM a point; the memory allows one in 0.86 (f64: 1.72) */
} load;

/* The shared memory's part of a pass as tiles of so many threads see it; without `all`, as if nothing conflicted. */
static double exchange(search *s, const wm_fft_tile_knobs *k, int passes, int pass, int all) {
    int lanes = all < SEEN ? all : SEEN;
    if (pass >= 0 && k->padded) return 1.1;
    if (!all) return 1;
    if (s->seen_lanes != lanes) memset(s->seen, 0, sizeof s->seen);
    s->seen_lanes = lanes;
    double *seen = &s->seen[pass + 1];
    if (*seen == 0) *seen = cycles(s, passes, pass, k->threads, lanes);
    return *seen;
}

static load load_of(search *s, const wm_fft_tile_knobs *k, int passes, int all) {
    int size = s->f64 ? 2 : 1;
    /* the engine's own reads and writes, and what latency makes of them */
    load sum = {k->padded ? 4 : 0, 4.0 * size};
    for (int i = 0; i < passes; i++) {
        int last = i + 1 == passes, butterflies = s->n / s->radix[i];
        int rounds = (butterflies + k->threads - 1) / k->threads;
        double used = (double)butterflies / (rounds * k->threads);
        double twiddles = last ? 0 : (2 * sqrt(s->radix[i]) - 2) / s->radix[i];
        double reads = exchange(s, k, passes, i, all), writes = last ? exchange(s, k, passes, -1, all) : reads;
        sum.issue += (radix_work(s->radix[i]) + 4 + (last ? 0 : 6)) * size / (0.5 + 0.5 * used);
        sum.cache += (reads + writes + twiddles) * size;
    }
    return sum;
}

/* A tile of `all` threads takes `lanes`. */
static double cost_of(const wm_fft_tile_knobs *k, int passes, load l, double lanes, double all) {
    double issue = l.issue * lanes / all / 128 / 0.7, cache = l.cache / 16;
    return sqrt(issue * issue + cache * cache) + 0.03 * (passes + 2 * k->padded);
}

/* Whether so little a cost may still be among the best. */
static int is_hopeful(const search *s, double least) {
    return s->count < WM_FFT_MOST_CUTS || least < s->best[s->count - 1].cost;
}

static void weigh_tile(search *s, wm_fft_tile_knobs *k, int passes, load least) {
    int all = k->threads * k->batch, lanes = (all + 31) / 32 * 32, size = s->f64 ? 2 : 1;
    /* Warps hide each other's waiting; loads on their way hide the memory's. */
    double warps = (double)k->blocks * lanes / 32,
           flight = (double)k->blocks * (k->stages - 1) * k->batch * s->n * 8 * size;
    double more = warps < 20 ? pow(20 / warps, 0.4) : 1, most = flight < 40000 ? pow(40000 / flight, 0.5) : 1;
    if (!is_hopeful(s, cost_of(k, passes, least, lanes, all) * more * most)) return;
    k->cost = cost_of(k, passes, load_of(s, k, passes, all), lanes, all) * more * most;
    keep(s, k);
}

/** Tiles of all sizes for the factors of a search and so many threads a transform. */
static void weigh(search *s, int passes, int threads) {
    wm_fft_tile_knobs k = {.threads = threads};
    int elements = 0, last = s->radix[passes - 1];
    if (threads < 1 || threads > 512) return;
    s->seen_lanes = 0;
    int results = (s->n / last + threads - 1) / threads * last;
    for (int i = 0; i < passes; i++) {
        if ((s->n / s->radix[i] + threads - 1) / threads > 6) return;
        if (s->radix[i] > elements) elements = s->radix[i];
        k.radices |= (s->radix[i] - 1) << (5 * i);
    }
    if (results > elements) elements = results;
    if (elements > (s->f64 ? 16 : 32) && !(passes == 1 && elements <= 32)) return;
    for (int i = 0; i < 12; i++) {
        int held = (s->n / s->radix[0] + threads - 1) / threads * s->radix[0]; /* while it moves between the pads */
        k.padded = i >= 6;
        if (k.padded && (passes == 1 || held > (s->f64 ? 16 : 32))) return;
        k.stages = 2 + i % 2;
        load least = load_of(s, &k, passes, 0);
        if (!is_hopeful(s, cost_of(&k, passes, least, 1, 1))) continue;
        if (choose_tile(s, &k, elements > held || !k.padded ? elements : held, 64 << i % 6 / 2))
            weigh_tile(s, &k, passes, least);
    }
}

static void factor(search *s, int left, int passes) {
    if (left == 1) {
        for (int i = 0; i < passes; i++)
            for (int rounds = 1; rounds <= 4; rounds++) {
                int threads = (s->n / s->radix[i] + rounds - 1) / rounds;
                int seen = 0;
                for (int k = 0; k < i; k++) seen = seen || s->n / s->radix[k] == threads;
                if (!seen) weigh(s, passes, threads);
            }
        return;
    }
    if (passes == MOST_PASSES) return;
    for (int r = 32; r >= 2; r--) {
        if (left % r || (r > 16 && s->f64 && !is_prime(r))) continue;
        s->radix[passes] = r;
        factor(s, left / r, passes + 1);
    }
}

/* ---- What was weighed before ---- */

enum { REMEMBERED = 251 };

static struct {
    int n, f64, count; /* n 0: nothing yet */
    wm_fft_tile_knobs best[WM_FFT_MOST_CUTS];
} remembered[REMEMBERED];
static pthread_mutex_t remembering = PTHREAD_MUTEX_INITIALIZER;

static int recall(int n, int f64, wm_fft_tile_knobs out[WM_FFT_MOST_CUTS]) {
    int slot = (2 * n + f64) % REMEMBERED, count = -1;
    pthread_mutex_lock(&remembering);
    if (remembered[slot].n == n && remembered[slot].f64 == f64) {
        count = remembered[slot].count;
        memcpy(out, remembered[slot].best, sizeof remembered[slot].best);
    }
    pthread_mutex_unlock(&remembering);
    return count;
}

static void remember(const search *s) {
    int slot = (2 * s->n + s->f64) % REMEMBERED;
    pthread_mutex_lock(&remembering);
    remembered[slot].n = s->n;
    remembered[slot].f64 = s->f64;
    remembered[slot].count = s->count;
    memcpy(remembered[slot].best, s->best, (size_t)s->count * sizeof *s->best);
    pthread_mutex_unlock(&remembering);
}

int wm_fft_tile_variants(int n, int f64, wm_fft_tile_knobs out[WM_FFT_MOST_CUTS]) {
    search s = {.n = n, .f64 = f64, .best = out};
    int known = recall(n, f64, out);
    if (known >= 0) return known;
    factor(&s, n, 0);
    remember(&s);
    return s.count;
}

void wm_fft_tile_cut(int n, int f64, const wm_fft_tile_knobs *k, wm_fft_cut *c) {
    memset(c, 0, sizeof *c);
    c->n = c->length = c->slab = n;
    c->threads = k->threads;
    c->batch = k->batch;
    c->least_blocks = k->blocks;
    c->f64 = f64;
    for (int i = 0; i < WM_FFT_CUT_PASSES; i++) {
        c->radix[i] = i < WM_FFT_MOST_PASSES ? ((k->radices >> (5 * i)) & 31) + 1 : 1;
        if (c->radix[i] > 1) c->passes = i + 1;
        if (c->radix[i] > c->most) c->most = c->radix[i];
    }
    int last = c->radix[c->passes - 1], results = (n / last + k->threads - 1) / k->threads * last;
    if (results > c->most) c->most = results;
    if (!k->padded) return;
    int held = (n / c->radix[0] + k->threads - 1) / k->threads * c->radix[0];
    if (held > c->most) c->most = held;
    wm_fft_cut_pads(c, SHARED / k->stages);
    if (!f64 && c->slab * c->batch % 2) c->slab++; /* tiles begin at multiples of 16 bytes */
}
