/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: each distribution's types and parameters, refused by name and value. */
#include "random_parameters.h"

#include "reference/random_values_job.h"

#include <float.h>
#include <math.h>

/* ---- Types ---- */

enum { FLOATS = 1, WIDE_FLOATS = 2, INTEGERS = 4, COUNTS = 8, BYTES = 16, WORDS = 32, INDICES = 64, ROUNDED = 128 };

static const struct {
    int set;
    const char *names;
} sets[] = {
    {FLOATS,      "f16, bf16, f32 or f64"                 },
    {WIDE_FLOATS, "f32 or f64"                            },
    {INTEGERS,    "u8, i8, u16, i16, u32, i32, u64 or i64"},
    {COUNTS,      "u32, i32, u64 or i64"                  },
    {BYTES,       "u8"                                    },
    {WORDS,       "u32"                                   },
    {INDICES,     "u32 or i32"                            },
    {ROUNDED,     "f16, bf16, e4m3 or e5m2"               },
};

/* The sets that a type is in. */
static int sets_of(wmType type) {
    switch (type) {
    case WM_F16:
    case WM_BF16:
        return FLOATS | ROUNDED;
    case WM_F32:
    case WM_F64:
        return FLOATS | WIDE_FLOATS;
    case WM_F8E4M3:
    case WM_F8E5M2:
        return ROUNDED;
    case WM_U8:
        return INTEGERS | BYTES;
    case WM_I8:
    case WM_U16:
    case WM_I16:
        return INTEGERS;
    case WM_U32:
        return INTEGERS | COUNTS | WORDS | INDICES;
    case WM_I32:
        return INTEGERS | COUNTS | INDICES;
    case WM_U64:
    case WM_I64:
        return INTEGERS | COUNTS;
    default:
        return 0;
    }
}

static int set_of(wmDistribution distribution) {
    switch (distribution) {
    case WM_RANDOM_BITS:
    case WM_RANDOM_INTEGERS:
        return INTEGERS;
    case WM_RANDOM_BERNOULLI:
        return BYTES;
    case WM_RANDOM_MASK:
        return WORDS;
    case WM_RANDOM_POISSON:
    case WM_RANDOM_BINOMIAL:
    case WM_RANDOM_GEOMETRIC:
    case WM_RANDOM_PERMUTATION:
        return COUNTS;
    case WM_RANDOM_CATEGORICAL:
        return INDICES;
    case WM_RANDOM_NORMAL_VECTORS:
    case WM_RANDOM_DIRICHLET:
        return WIDE_FLOATS;
    case WM_RANDOM_ROUND:
        return ROUNDED;
    default:
        return FLOATS;
    }
}

wmStatus wm_random_desc_check(const wmRandomDesc *d) {
    int set = set_of(d->distribution), row = 0;
    while (sets[row].set != set) row++;
    if (!(sets_of(d->type) & set))
        return wm_fail(WM_ERR_UNSUPPORTED, "type is %s; this distribution gives %s", wmTypeName(d->type),
                       sets[row].names);
    if (d->interval != WM_CLOSED_OPEN && d->distribution != WM_RANDOM_UNIFORM)
        return wm_fail(WM_ERR_ARGUMENT, "interval is %s; only a uniform has one",
                       d->interval == WM_OPEN ? "open" : "open_closed");
    if (d->accuracy == WM_ACCURACY_FAST && d->determinism == WM_GPU_TO_GPU)
        return wm_fail(WM_ERR_UNSUPPORTED, "accuracy is fast, a bound; determinism gpu_to_gpu asks for exact bits");
    return WM_OK;
}

int wm_random_element_bits(const wmRandomDesc *d) {
    int bits = 8 * (int)wmTypeSize(d->type);
    switch (d->distribution) {
    case WM_RANDOM_BITS:
    case WM_RANDOM_UNIFORM:
    case WM_RANDOM_NORMAL_VECTORS:
        return bits;
    case WM_RANDOM_INTEGERS:
        return bits == 8 ? 16 : bits == 16 ? 32 : bits;
    case WM_RANDOM_BERNOULLI:
        return 1;
    case WM_RANDOM_MASK:
    case WM_RANDOM_POISSON:
    case WM_RANDOM_BINOMIAL:
        return 32;
    case WM_RANDOM_ROUND:
        return d->type == WM_BF16 ? 16 : 32;
    case WM_RANDOM_NORMAL:
    case WM_RANDOM_EXPONENTIAL:
    case WM_RANDOM_LOGNORMAL:
        return bits == 64 ? 64 : 32;
    default:
        return 64;
    }
}

/* ---- Parameters ---- */

/* Parameters must be finite in the output type, or every value would be infinite. */
static int is_finite_in(double value, wmType type) {
    double most = type == WM_F64 ? DBL_MAX : type == WM_F16 ? 65504 : FLT_MAX;
    return fabs(value) <= most; /* false for NaN */
}

static wmStatus check_uniform(const wmRandomDesc *d, wmRandomArgs *args) {
    wmType type = d->type;
    double low = 0, high = 0;
    if (args->low == 0 && args->high == 0) args->high = 1;
    if (!is_finite_in(args->low, type) || !is_finite_in(args->high, type) ||
        !is_finite_in(args->high - args->low, type == WM_F64 ? type : WM_F32))
        return wm_fail(WM_ERR_ARGUMENT, "args.low is %g and args.high %g; both and their difference must be finite %s",
                       args->low, args->high, wmTypeName(type));
    wm_value_ends(type, args, &low, &high);
    if (!(low < high))
        return wm_fail(WM_ERR_ARGUMENT, "args.low is %.17g, not below args.high, %.17g, in %s", args->low, args->high,
                       wmTypeName(type));
    wm_value_job job = wm_value_job_make(d, args);
    if (d->interval == WM_OPEN && (type == WM_F64 ? job.in64.width : job.in32.width) == 0)
        return wm_fail(WM_ERR_ARGUMENT, "args.low is %.17g and args.high %.17g; no %s lies between them", args->low,
                       args->high, wmTypeName(type));
    return WM_OK;
}

static wmStatus check_normal(const wmRandomDesc *d, wmRandomArgs *args) {
    wmType type = d->type;
    if (args->std == 0 && args->mean == 0) args->std = 1;
    if (!is_finite_in(args->mean, type) || !is_finite_in(args->std, type) || args->std < 0)
        return wm_fail(WM_ERR_ARGUMENT, "args.mean is %g and args.std %g; finite %s, std at least 0", args->mean,
                       args->std, wmTypeName(type));
    return WM_OK;
}

static wmStatus check_probability(const wmRandomArgs *args) {
    if (!(args->p >= 0 && args->p <= 1)) return wm_fail(WM_ERR_ARGUMENT, "args.p is %g; 0 to 1", args->p);
    return WM_OK;
}

static wmStatus check_exponential(const wmRandomDesc *d, wmRandomArgs *args) {
    if (args->rate == 0) args->rate = 1;
    if (!(args->rate > 0) || !is_finite_in(args->rate, WM_F64) || !is_finite_in(40 / args->rate, d->type))
        return wm_fail(WM_ERR_ARGUMENT, "args.rate is %g; above 0, finite, and so that 40 / rate is a finite %s",
                       args->rate, wmTypeName(d->type));
    return WM_OK;
}

/* The type's least value and how many it has; 0 stands for 2^64. */
static wmStatus check_integers(const wmRandomDesc *d, wmRandomArgs *args) {
    int bits = 8 * (int)wmTypeSize(d->type);
    int sign = d->type == WM_I8 || d->type == WM_I16 || d->type == WM_I32 || d->type == WM_I64;
    int64_t least = sign ? -(int64_t)((uint64_t)1 << (bits - 2)) * 2 : 0;
    if (args->span == 0 && args->base == 0) args->base = least; /* all values of the type */
    uint64_t before = (uint64_t)args->base - (uint64_t)least;   /* values of the type below base */
    uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    if (args->span == 0 && before == 0) return WM_OK;
    if ((d->type != WM_U64 && args->base < least) || before > most || args->span == 0 || args->span - 1 > most - before)
        return wm_fail(WM_ERR_ARGUMENT, "args.base is %lld and args.span %llu; not a range of %s",
                       (long long)args->base, (unsigned long long)args->span, wmTypeName(d->type));
    return WM_OK;
}

wmStatus wm_random_parameters_check(const wmPlan *plan, int reach, wmRandomArgs *args) {
    const wmRandomDesc *d = &wm_plan_problem(plan)->u.random;
    (void)reach;
    switch (d->distribution) {
    case WM_RANDOM_UNIFORM:
        return check_uniform(d, args);
    case WM_RANDOM_NORMAL:
    case WM_RANDOM_LOGNORMAL:
        return check_normal(d, args);
    case WM_RANDOM_INTEGERS:
        return check_integers(d, args);
    case WM_RANDOM_BERNOULLI:
    case WM_RANDOM_MASK:
        return check_probability(args);
    case WM_RANDOM_EXPONENTIAL:
        return check_exponential(d, args);
    default:
        return WM_OK;
    }
}
