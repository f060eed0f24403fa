/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws that every transform obeys, whoever computes it (after FFTW's own tests, and Ergun, "Testing multivariate linear
 * functions", STOC 1995): linearity, impulses, shifts in time and in frequency, over random shapes, in and out of
 * place, kinds, directions and batch loops; equal bits for equal inputs; NaN and infinity stay in their own array;
 * plans leave nothing behind. On the CPU place, under the emulation, and on a GPU ("gpu").
 */
#include "fft_place.h"
#include "reference/number.h"

#include <malloc.h>

#ifdef WM_TEST_SIMT
enum { SHAPES = 10, MOST = 300, PLANS = 500 };
#else
enum { SHAPES = 60, MOST = 5000, PLANS = 10000 };
#endif

/* ---- Random problems ---- */

/** Both sides of a problem as host arrays of its scalar type. */
typedef struct law {
    wmFftDesc d;
    wmPlan *plan;
    size_t in_bytes, out_bytes; /* in place: the larger of both, twice */
} law;

static int64_t random_length(int64_t most) {
    static const int64_t usual[] = {1,  2,  3,  4,   5,   7,   8,   12,   16,   17,  30,
                                    37, 64, 97, 100, 128, 210, 256, 1000, 1009, 4096};
    int64_t n = fft_below(2) ? usual[fft_below(sizeof usual / sizeof *usual)] : 1 + fft_below(most);
    return n <= most ? n : most;
}

/** Rank 1 to 3, one or two loops; packed, or with a gap behind each row of the innermost loop. */
static law random_law(wmFftKind kind, int out_of_place) {
    static const int64_t most[3] = {MOST, 40, 12};
    int rank = 1 + (int)fft_below(3), gap = rank == 1 ? (int)fft_below(4) : 0;
    int64_t n[3];
    law l = {0};
    for (int i = 0; i < rank; i++) n[i] = random_length(most[rank - 1]);
    if (kind != WM_FFT_C2C && n[rank - 1] == 1) n[rank - 1] = 2;
    wmType type = fft_below(2) ? WM_F32 : WM_F64;
    int in_place = !out_of_place && (int)fft_below(2);
    l.d = in_place ? wmFftDescPackedInPlace(kind, type, rank, n, 3) : wmFftDescPacked(kind, type, rank, n, 3);
    if (kind == WM_FFT_C2C && fft_below(2)) l.d.direction = WM_INVERSE;
    l.d.scale = (wmFftScale)fft_below(3);
    if (!in_place || kind == WM_FFT_C2C) l.d.loop[0].in_stride += gap, l.d.loop[0].out_stride += gap;
    if (fft_below(2)) { /* a second loop around */
        l.d.loop[1] = l.d.loop[0];
        l.d.loop[0] = (wmFftDim){2, 3 * l.d.loop[1].in_stride, 3 * l.d.loop[1].out_stride};
        l.d.loops = 2;
    }
    l.plan = place_plan(&l.d);
    l.in_bytes = fft_bytes(&l.d, 0), l.out_bytes = fft_bytes(&l.d, 1);
    if (in_place) l.in_bytes = l.out_bytes = l.in_bytes > l.out_bytes ? l.in_bytes : l.out_bytes;
    return l;
}

static void *input_of(const law *l) {
    fft_buffer room = {NULL, malloc(l->in_bytes), l->in_bytes};
    assert_non_null(room.at);
    fft_fill(&room, l->d.type);
    return room.at;
}

static void *output_of(const law *l, const void *in) {
    void *out = malloc(l->out_bytes);
    assert_non_null(out);
    memset(out, 0, l->out_bytes);
    place_run(l->plan, in, l->in_bytes, out, l->out_bytes, l->d.placement == WM_IN_PLACE, NULL, NULL);
    return out;
}

/* ---- Walking over elements ---- */

typedef struct spot {
    int64_t array[3], k[3]; /* of loops and axes */
    int64_t at;             /* element of the side */
} spot;

/** The next element of a side; begins with a zeroed spot and returns 0 behind the last. */
static int next(const wmFftDesc *d, int output, spot *s) {
    int more = 0;
    for (int i = d->rank - 1; i >= 0 && !more; i--)
        if (++s->k[i] < wm_fft_length(d, i, output))
            more = 1;
        else
            s->k[i] = 0;
    for (int i = d->loops - 1; i >= 0 && !more; i--)
        if (++s->array[i] < d->loop[i].n)
            more = 1;
        else
            s->array[i] = 0;
    s->at = 0;
    for (int i = 0; i < d->rank; i++) s->at += s->k[i] * (output ? d->dim[i].out_stride : d->dim[i].in_stride);
    for (int i = 0; i < d->loops; i++) s->at += s->array[i] * (output ? d->loop[i].out_stride : d->loop[i].in_stride);
    return more;
}

static int64_t with_last(const wmFftDesc *d, int output, const spot *s, int64_t k) {
    int last = d->rank - 1;
    return s->at + (k - s->k[last]) * (output ? d->dim[last].out_stride : d->dim[last].in_stride);
}

static wm_root get(const wmFftDesc *d, int output, const void *side, int64_t at) {
    if (fft_pairs(d, output) == 1) return (wm_root){(long double)fft_get(side, d->type, at), 0};
    return (wm_root){(long double)fft_get(side, d->type, 2 * at), (long double)fft_get(side, d->type, 2 * at + 1)};
}

static void put(const wmFftDesc *d, int output, void *side, int64_t at, wm_root x) {
    int pairs = fft_pairs(d, output);
    fft_put(side, d->type, pairs * at, (double)x.re);
    if (pairs == 2) fft_put(side, d->type, 2 * at + 1, (double)x.im);
}

static wm_root times(wm_root a, wm_root b) {
    return (wm_root){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/** exp(-+ 2 pi i k / n) in the problem's direction. */
static wm_root turn(const wmFftDesc *d, int64_t k, int64_t n) {
    wm_root w = wm_root_of((k % n + n) % n, n);
    if (d->direction == WM_INVERSE) w.im = -w.im;
    return w;
}

/** What a law wants of output element `s`, from the outputs that it starts from. */
typedef wm_root (*law_wants)(const wmFftDesc *d, const spot *s, const void *first, const void *second, int64_t shift);

static void compare(const law *l, const char *name, const void *got, law_wants wants, const void *first,
                    const void *second, int64_t shift) {
    spot s = {{0}, {0}, 0};
    double error = 0, size = 0;
    do {
        wm_root g = get(&l->d, 1, got, s.at), w = wants(&l->d, &s, first, second, shift);
        error += (double)((g.re - w.re) * (g.re - w.re) + (g.im - w.im) * (g.im - w.im));
        size += (double)(w.re * w.re + w.im * w.im);
    } while (next(&l->d, 1, &s));
    double u = l->d.type == WM_F64 ? 0x1p-53 : 0x1p-24, most = 3 * fft_gate(&l->d) + 2 * u;
    if (!(sqrt(error / (size > 0 ? size : 1)) <= most)) /* of two or three transforms, few values among them */
        fail_msg("%s, %s by %s: L2 error %.3g, at most %.3g", name, wmPlanProblem(l->plan), wmPlanSolver(l->plan),
                 sqrt(error / size), most);
}

/* ---- The laws ---- */

static wm_root wants_sum(const wmFftDesc *d, const spot *s, const void *first, const void *second, int64_t shift) {
    wm_root a = get(d, 1, first, s->at), b = get(d, 1, second, s->at);
    (void)shift;
    return (wm_root){0.75L * a.re - 0.5L * b.re, 0.75L * a.im - 0.5L * b.im};
}

static void linearity(const law *l) {
    void *x = input_of(l), *y = input_of(l), *z = input_of(l);
    for (int64_t i = 0; i < (int64_t)(l->in_bytes / wmTypeSize(l->d.type)); i++)
        fft_put(z, l->d.type, i, 0.75 * fft_get(x, l->d.type, i) - 0.5 * fft_get(y, l->d.type, i));
    void *fx = output_of(l, x), *fy = output_of(l, y), *fz = output_of(l, z);
    compare(l, "linearity", fz, wants_sum, fx, fy, 0);
    void *all[] = {x, y, z, fx, fy, fz};
    for (int i = 0; i < 6; i++) free(all[i]);
}

static wm_root wants_turned(const wmFftDesc *d, const spot *s, const void *first, const void *second, int64_t shift) {
    int last = d->rank - 1;
    (void)second;
    return times(get(d, 1, first, s->at), turn(d, shift * s->k[last] % d->dim[last].n, d->dim[last].n));
}

/** x moved on by `shift` along the last axis. */
static void shift_in_time(const law *l) {
    int64_t n = l->d.dim[l->d.rank - 1].n, shift = fft_below(n);
    void *x = input_of(l), *y = input_of(l);
    spot s = {{0}, {0}, 0};
    do put(&l->d, 0, y, with_last(&l->d, 0, &s, (s.k[l->d.rank - 1] + shift) % n), get(&l->d, 0, x, s.at));
    while (next(&l->d, 0, &s));
    void *fx = output_of(l, x), *fy = output_of(l, y);
    compare(l, "shift in time", fy, wants_turned, fx, NULL, shift);
    void *all[] = {x, y, fx, fy};
    for (int i = 0; i < 4; i++) free(all[i]);
}

static wm_root wants_moved(const wmFftDesc *d, const spot *s, const void *first, const void *second, int64_t shift) {
    int64_t n = d->dim[d->rank - 1].n;
    (void)second;
    return get(d, 1, first, with_last(d, 1, s, (s->k[d->rank - 1] + n - shift) % n));
}

/** x turned on by `shift` roots an element: its spectrum moves on. */
static void shift_in_frequency(const law *l) {
    int last = l->d.rank - 1;
    int64_t n = l->d.dim[last].n, shift = fft_below(n);
    void *x = input_of(l), *y = input_of(l);
    spot s = {{0}, {0}, 0};
    do {
        wm_root w = turn(&l->d, shift * s.k[last] % n, n);
        w.im = -w.im;
        put(&l->d, 0, y, s.at, times(get(&l->d, 0, x, s.at), w));
    } while (next(&l->d, 0, &s));
    void *fx = output_of(l, x), *fy = output_of(l, y);
    compare(l, "shift in frequency", fy, wants_moved, fx, NULL, shift);
    void *all[] = {x, y, fx, fy};
    for (int i = 0; i < 4; i++) free(all[i]);
}

static wm_root wants_roots(const wmFftDesc *d, const spot *s, const void *first, const void *second, int64_t shift) {
    const int64_t *where = first;
    wm_root w = {1, 0};
    double points = (double)wm_fft_points(d);
    (void)second, (void)shift;
    for (int i = 0; i < d->rank; i++) w = times(w, turn(d, where[i] * s->k[i] % d->dim[i].n, d->dim[i].n));
    long double scale = d->scale == WM_FFT_SCALE_BY_N        ? 1 / points
                        : d->scale == WM_FFT_SCALE_BY_SQRT_N ? 1 / sqrt(points)
                                                             : 1;
    return (wm_root){w.re * scale, w.im * scale};
}

static void impulse(const law *l) {
    int64_t where[3] = {0, 0, 0};
    void *x = input_of(l);
    spot s = {{0}, {0}, 0};
    for (int i = 0; i < l->d.rank; i++) where[i] = fft_below(l->d.dim[i].n);
    do put(&l->d, 0, x, s.at, (wm_root){memcmp(s.k, where, sizeof where) == 0, 0});
    while (next(&l->d, 0, &s));
    void *fx = output_of(l, x);
    compare(l, "impulse", fx, wants_roots, where, NULL, 0);
    free(x);
    free(fx);
}

static void laws(void **state) {
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        wmFftKind kind = (wmFftKind)(i % 3);
        law l = random_law(kind, 0);
        linearity(&l);
        if (kind != WM_FFT_C2R) shift_in_time(&l), impulse(&l);
        if (kind == WM_FFT_C2C) shift_in_frequency(&l);
        wmPlanDestroy(l.plan);
    }
}

/* ---- Bits ---- */

/** All arrays get the values of the first one. */
static void repeat_first(const law *l, void *x) {
    spot s = {{0}, {0}, 0};
    do {
        spot first = s;
        for (int i = 0; i < l->d.loops; i++) first.at -= s.array[i] * l->d.loop[i].in_stride;
        put(&l->d, 0, x, s.at, get(&l->d, 0, x, first.at));
    } while (next(&l->d, 0, &s));
}

static void equal_bits(void **state) {
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        law l = random_law((wmFftKind)(i % 3), 0);
        void *x = input_of(&l);
        repeat_first(&l, x);
        void *first = output_of(&l, x);
        for (int run = 0; run < 2; run++) {
            void *again = output_of(&l, x);
            assert_memory_equal(first, again, l.out_bytes);
            free(again);
        }
        size_t element = wmTypeSize(l.d.type) * (size_t)fft_pairs(&l.d, 1);
        spot s = {{0}, {0}, 0};
        do {
            int64_t of_first = s.at;
            for (int k = 0; k < l.d.loops; k++) of_first -= s.array[k] * l.d.loop[k].out_stride;
            if (memcmp((char *)first + (size_t)s.at * element, (char *)first + (size_t)of_first * element, element) !=
                0)
                fail_msg("%s by %s: equal arrays, other bits at element %lld", wmPlanProblem(l.plan),
                         wmPlanSolver(l.plan), (long long)s.at);
        } while (next(&l.d, 1, &s));
        free(x);
        free(first);
        wmPlanDestroy(l.plan);
    }
}

/* ---- NaN and infinity ---- */

static void stay_in_their_array(void **state) {
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        law l = random_law((wmFftKind)(i % 3), 1);
        double poison = i % 2 ? (double)NAN : (double)INFINITY;
        int64_t sick = fft_below(l.d.loop[l.d.loops - 1].n);
        void *x = input_of(&l), *clean = output_of(&l, x);
        spot s = {{0}, {0}, 0};
        do
            if (s.array[l.d.loops - 1] == sick && fft_below(4) == 0)
                put(&l.d, 0, x, s.at, (wm_root){(long double)poison, (long double)poison});
        while (next(&l.d, 0, &s));
        void *got = output_of(&l, x);
        size_t element = wmTypeSize(l.d.type) * (size_t)fft_pairs(&l.d, 1);
        s = (spot){{0}, {0}, 0};
        do
            if (s.array[l.d.loops - 1] != sick &&
                memcmp((char *)got + (size_t)s.at * element, (char *)clean + (size_t)s.at * element, element) != 0)
                fail_msg("%s by %s: array %lld has %g, array %lld changes", wmPlanProblem(l.plan), wmPlanSolver(l.plan),
                         (long long)sick, poison, (long long)s.array[l.d.loops - 1]);
        while (next(&l.d, 1, &s));
        free(x);
        free(clean);
        free(got);
        wmPlanDestroy(l.plan);
    }
}

/* ---- 16 bits ---- */

/** Error of the f16 or bf16 transform of n points against f64's of the same numbers, over what rounding alone costs. */
static void narrow(wmType type, int64_t n) {
    int64_t arrays = 600 / n + 1, count = n * arrays;
    wmFftDesc d = wmFftDescPacked(WM_FFT_C2C, type, 1, &n, arrays), wide = d;
    wmType pair = wm_fft_complex_type(type);
    d.scale = wide.scale = WM_FFT_SCALE_BY_SQRT_N;
    wide.type = WM_F64;
    wmPlan *plan = place_plan(&d), *judge = place_plan(&wide);
    uint32_t *x = malloc((size_t)count * 4), *y = malloc((size_t)count * 4);
    wm_number *wide_x = malloc((size_t)count * sizeof *wide_x), *want = malloc((size_t)count * sizeof *want);
    double error = 0, least = 0, size = 0, gate = type == WM_F16 ? 2.2e-4 : 1.75e-3;
    assert_true(x && y && wide_x && want);
    for (int64_t i = 0; i < count; i++) {
        double re = (double)(int64_t)fft_random() * 0x1p-63, im = (double)(int64_t)fft_random() * 0x1p-63;
        wm_number_store(pair, x, i, (wm_number){re, im});
        wide_x[i] = wm_number_load(pair, x, i);
    }
    place_run(plan, x, (size_t)count * 4, y, (size_t)count * 4, 0, NULL, NULL);
    place_run(judge, wide_x, (size_t)count * 16, want, (size_t)count * 16, 0, NULL, NULL);
    for (int64_t i = 0; i < count; i++) {
        wm_number got = wm_number_load(pair, y, i), best = wm_number_round(pair, want[i]), w = want[i];
        error += (got.re - w.re) * (got.re - w.re) + (got.im - w.im) * (got.im - w.im);
        least += (best.re - w.re) * (best.re - w.re) + (best.im - w.im) * (best.im - w.im);
        size += w.re * w.re + w.im * w.im;
    }
    /* Few values may lie so that rounding alone misses the gate; then little may come on top. */
    if (!(sqrt(error / size) <= fmax(gate, 1.02 * sqrt(least / size))))
        fail_msg("%s by %s: L2 error %.3g", wmPlanProblem(plan), wmPlanSolver(plan), sqrt(error / size));
    void *all[] = {x, y, wide_x, want};
    for (int i = 0; i < 4; i++) free(all[i]);
    wmPlanDestroy(plan);
    wmPlanDestroy(judge);
}

static void sixteen_bits(void **state) {
    (void)state;
    int64_t most = wmContextPlace(place_context) == WM_PLACE_GPU ? 40 : 4096;
    for (int64_t n = 1; n <= most; n += n < 256 ? 1 : 9) narrow(n % 2 ? WM_BF16 : WM_F16, n);
}

/* ---- Plans leave nothing ---- */

static void plans_come_and_go(void **state) {
    (void)state;
    static const char *const problems[] = {"fft c2c f32 1000 batch=3", "fft r2c f64 210", "fft c2r f32 128 batch=2",
                                           "fft c2c f32 12x35", "fft c2c f16 60"};
    size_t before = 0;
    for (int i = 0; i < PLANS; i++) {
        wmPlan *plan = NULL;
        wmStatus status = wmPlanCreate(&plan, place_context, problems[i % 5], NULL);
        if (status != WM_OK && !(place_is_gpu && status == WM_ERR_UNSUPPORTED)) fail_msg("%s", wmLastError());
        wmPlanDestroy(plan);
        if (i == PLANS / 5) before = mallinfo2().uordblks;
    }
    size_t after = mallinfo2().uordblks; /* caches are full after a fifth of them */
    if (after > before + 65536)
        fail_msg("%zu bytes in use after %d plans, %zu after %d", after, PLANS, before, PLANS / 5);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(laws), cmocka_unit_test(equal_bits),
                                       cmocka_unit_test(stay_in_their_array), cmocka_unit_test(sixteen_bits),
                                       cmocka_unit_test(plans_come_and_go)};
    if (place_open(argc, argv)) {
        printf("FAIL no context: %s\n", wmLastError());
        return 1;
    }
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    return failures + place_close() ? 1 : 0;
}
