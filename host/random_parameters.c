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
    double most = type == WM_F64 ? DBL_MAX : type == WM_F16 ? 65504 : type == WM_BF16 ? 0x1.fep127 : FLT_MAX;
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

/* A finite parameter above 0. */
static wmStatus check_positive(const char *name, double value, double most) {
    if (!(value > 0 && value <= most))
        return wm_fail(WM_ERR_ARGUMENT, "args.%s is %g; above 0, at most %g", name, value, most);
    return WM_OK;
}

/* The largest value of a count type, as a double that is not above it. */
static double most_of(wmType type) {
    return type == WM_U32 ? 4294967295.0 : type == WM_I32 ? 2147483647.0 : 0x1p53;
}

/* Twelve standard deviations of room, so that no draw leaves the type. */
static wmStatus check_poisson(const wmRandomDesc *d, const wmRandomArgs *args) {
    double most = most_of(d->type), reach = args->rate + 12 * sqrt(args->rate) + 100;
    if (!(args->rate >= 0 && reach <= most)) /* false for NaN */
        return wm_fail(WM_ERR_ARGUMENT,
                       "args.rate is %g; at least 0, and rate + 12 sqrt(rate) + 100 at most %.17g of %s", args->rate,
                       most, wmTypeName(d->type));
    return WM_OK;
}

static wmStatus check_binomial(const wmRandomDesc *d, const wmRandomArgs *args) {
    WM_TRY(check_probability(args));
    if ((double)args->trials > most_of(d->type))
        return wm_fail(WM_ERR_ARGUMENT, "args.trials is %llu; at most %.17g of %s", (unsigned long long)args->trials,
                       most_of(d->type), wmTypeName(d->type));
    return WM_OK;
}

static wmStatus check_geometric(const wmRandomDesc *d, const wmRandomArgs *args) {
    if (!(args->p > 0 && args->p <= 1) || 37 / args->p > most_of(d->type))
        return wm_fail(WM_ERR_ARGUMENT, "args.p is %g; above 0, at most 1, and 37 / p at most %.17g of %s", args->p,
                       most_of(d->type), wmTypeName(d->type));
    return WM_OK;
}

static wmStatus check_truncated(const wmRandomDesc *d, wmRandomArgs *args) {
    double low = 0, high = 0;
    WM_TRY(check_normal(d, args));
    WM_TRY(check_positive("std", args->std, DBL_MAX));
    wm_value_ends(d->type, args, &low, &high);
    if (!(low < high) || !(low < INFINITY) || !(high > -INFINITY))
        return wm_fail(WM_ERR_ARGUMENT, "args.low is %.17g, not below args.high, %.17g, in %s", args->low, args->high,
                       wmTypeName(d->type));
    double near = low > args->mean ? low : high < args->mean ? high : args->mean;
    if (!(fabs(near - args->mean) / args->std <= 0x1p20))
        return wm_fail(WM_ERR_ARGUMENT, "args.low is %g and args.high %g: the interval begins over 2^20 std from mean",
                       args->low, args->high);
    return WM_OK;
}

/* Location and scale of the transforms; the scale alone of gamma and Weibull. */
static wmStatus check_line(const wmRandomDesc *d, wmRandomArgs *args) {
    if (args->scale == 0) args->scale = 1;
    if (!is_finite_in(args->location, d->type))
        return wm_fail(WM_ERR_ARGUMENT, "args.location is %g; finite %s", args->location, wmTypeName(d->type));
    return check_positive("scale", args->scale, d->type == WM_F64 ? DBL_MAX : FLT_MAX);
}

static wmStatus check_shapes(const wmRandomDesc *d, wmRandomArgs *args) {
    static const double MOST = 0x1p40; /* beyond, the logarithms of acceptance lose their digits */
    WM_TRY(check_line(d, args));
    WM_TRY(check_positive("shape", args->shape, MOST));
    return d->distribution == WM_RANDOM_BETA ? check_positive("shape2", args->shape2, MOST) : WM_OK;
}

static wmStatus check_permutation(const wmRandomDesc *d, const wmRandomArgs *args) {
    uint64_t most = d->type == WM_U32 ? (uint64_t)1 << 32 : d->type == WM_I32 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
    if (args->span == 0 || args->span > most)
        return wm_fail(WM_ERR_ARGUMENT, "args.span is %llu; 1 to %llu of %s", (unsigned long long)args->span,
                       (unsigned long long)most, wmTypeName(d->type));
    if (args->offset > args->span || (uint64_t)args->count > args->span - args->offset)
        return wm_fail(WM_ERR_ARGUMENT,
                       "args.offset is %llu and args.count %lld; a permutation has span = %llu elements",
                       (unsigned long long)args->offset, (long long)args->count, (unsigned long long)args->span);
    return WM_OK;
}

static wmStatus check_categorical(const wmPlan *plan, int reach, const wmRandomArgs *args) {
    if (args->dimension < 1 || args->dimension > INT32_MAX)
        return wm_fail(WM_ERR_ARGUMENT, "args.dimension is %lld; 1 to 2^31 - 1 categories", (long long)args->dimension);
    return args->count ? wm_pointer_check(plan, args->table, 8, "table", reach) : WM_OK;
}

static wmStatus check_rows_of(const wmPlan *plan, int reach, const wmRandomArgs *args) {
    const wmRandomDesc *d = &wm_plan_problem(plan)->u.random;
    int64_t n = args->dimension, align = (int64_t)wmTypeSize(d->type);
    if (n < 1 || n > 32768) return wm_fail(WM_ERR_ARGUMENT, "args.dimension is %lld; 1 to 32768", (long long)n);
    if (args->count % n || args->offset % (uint64_t)n)
        return wm_fail(WM_ERR_ARGUMENT, "args.count is %lld and args.offset %llu; multiples of args.dimension, %lld",
                       (long long)args->count, (unsigned long long)args->offset, (long long)n);
    if (d->columns % n)
        return wm_fail(WM_ERR_ARGUMENT, "args.dimension is %lld; a vector lies in one row, so it divides columns, %lld",
                       (long long)n, (long long)d->columns);
    if (args->offset + (uint64_t)args->count < args->offset)
        return wm_fail(WM_ERR_ARGUMENT, "args.offset is %llu; rows do not wrap", (unsigned long long)args->offset);
    if (!args->count) return WM_OK;
    WM_TRY(wm_pointer_check(plan, args->table, align, "table", reach));
    return args->in ? wm_pointer_check(plan, args->in, align, "in", reach) : WM_OK;
}

wmStatus wm_random_parameters_check(const wmPlan *plan, int reach, wmRandomArgs *args) {
    const wmRandomDesc *d = &wm_plan_problem(plan)->u.random;
    switch (d->distribution) {
    case WM_RANDOM_BITS:
        return WM_OK;
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
    case WM_RANDOM_TRUNCATED_NORMAL:
        return check_truncated(d, args);
    case WM_RANDOM_POISSON:
        return check_poisson(d, args);
    case WM_RANDOM_BINOMIAL:
        return check_binomial(d, args);
    case WM_RANDOM_GEOMETRIC:
        return check_geometric(d, args);
    case WM_RANDOM_GAMMA:
    case WM_RANDOM_BETA:
    case WM_RANDOM_CHI_SQUARE:
    case WM_RANDOM_STUDENT_T:
    case WM_RANDOM_WEIBULL:
        return check_shapes(d, args);
    case WM_RANDOM_LAPLACE:
    case WM_RANDOM_LOGISTIC:
    case WM_RANDOM_CAUCHY:
    case WM_RANDOM_GUMBEL:
        return check_line(d, args);
    case WM_RANDOM_CATEGORICAL:
        return check_categorical(plan, reach, args);
    case WM_RANDOM_PERMUTATION:
        return check_permutation(d, args);
    case WM_RANDOM_NORMAL_VECTORS:
    case WM_RANDOM_DIRICHLET:
        return check_rows_of(plan, reach, args);
    case WM_RANDOM_ROUND:
        return args->count ? wm_pointer_check(plan, args->in, 4, "in", reach) : WM_OK;
    }
    return WM_OK;
}
