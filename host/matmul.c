/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: the checks of wmMatmulDesc and wmMatmulArgs, and the public calls. */
#include "args.h"
#include "lib/functor.h"
#include "lib/matmul_view.h"

/* ---- The desc ---- */

/* What only strided batches of real products have. */
static const char *more_of(const wmMatmulDesc *d) {
    if (d->gate) return "gate";
    if (d->r.type) return "r.type";
    if (d->z.type) return "z.type";
    if (d->reduction) return "reduction";
    if (d->dropout) return "dropout";
    if (d->triangle) return "triangle";
    if (d->functor.source) return "functor";
    if (d->activation == WM_ACT_SILU) return "activation (silu)";
    return NULL;
}

static wmStatus check_scale(const wmMatrixDesc *x, char name) {
    if ((name == 'a' && x->scale == WM_SCALE_COLUMN) || (name == 'b' && x->scale == WM_SCALE_ROW))
        return wm_fail(WM_ERR_ARGUMENT, "%c.scale is %s; a sum over k has one scale a row of a and a column of b", name,
                       x->scale == WM_SCALE_ROW ? "row" : "column");
    if (wm_scale_is_block(x) && (name == 'd' || !wm_type_is_fp8(x->type)))
        return wm_fail(WM_ERR_ARGUMENT, "%c.scale is by block; only an fp8 a or b has such", name);
    return WM_OK;
}

static wmStatus check_more(const wmMatmulDesc *d) {
    const wmMatrixDesc *const more[] = {&d->r, &d->z};
    for (int i = 0; i < 2; i++) {
        if (more[i]->op)
            return wm_fail(WM_ERR_ARGUMENT, "%c.op is %d; only a and b have an op", "rz"[i], more[i] -> op);
        if (more[i]->scale)
            return wm_fail(WM_ERR_ARGUMENT, "%c.scale is %d; only a, b and d have a scale", "rz"[i], more[i] -> scale);
    }
    if (d->allow_3m != 0 && d->allow_3m != 1)
        return wm_fail(WM_ERR_ARGUMENT, "allow_3m is %d; 0 or 1", (int)d->allow_3m);
    if (d->gate && d->n % 2)
        return wm_fail(WM_ERR_ARGUMENT, "n is %lld, odd, and a gate pairs its columns", (long long)d->n);
    if (d->triangle && d->m != d->n)
        return wm_fail(WM_ERR_ARGUMENT, "triangle is set, and d is %lld x %lld, not square", (long long)d->m,
                       (long long)d->n);
    if (d->triangle && (d->gate || d->z.type || d->reduction))
        return wm_fail(WM_ERR_ARGUMENT, "triangle is set beside %s",
                       d->gate     ? "gate"
                       : d->z.type ? "z.type"
                                   : "reduction");
    return WM_OK;
}

static wmStatus check_sizes(const wmMatmulDesc *d) {
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {
        {"m",     d->m    },
        {"n",     d->n    },
        {"k",     d->k    },
        {"batch", d->batch}
    };
    for (int i = 0; i < 4; i++)
        if (sizes[i].value < 0)
            return wm_fail(WM_ERR_ARGUMENT, "%s is %lld, negative", sizes[i].name, (long long)sizes[i].value);
    if (!d->a.type) return wm_fail(WM_ERR_ARGUMENT, "a.type is unset");
    if (d->c.op || d->d.op)
        return wm_fail(WM_ERR_ARGUMENT, "%c.op is %d; only a and b have an op", d->c.op ? 'c' : 'd',
                       (int)(d->c.op ? d->c.op : d->d.op));
    if (d->c.scale) return wm_fail(WM_ERR_ARGUMENT, "c.scale is %d; only a, b and d have a scale", (int)d->c.scale);
    return check_more(d);
}

static wmStatus check_layout(const wmMatmulDesc *d, const wmMatrixDesc *matrix, char name) {
    wm_shape shape = wm_matmul_shape(d, name);
    int64_t inner = matrix->order == WM_COL_MAJOR ? shape.rows : shape.cols;
    int64_t element = (int64_t)wmTypeSize(matrix->type);
    if (matrix->ld < 0 || matrix->ld < inner)
        return wm_fail(WM_ERR_ARGUMENT, "%c.ld is %lld, less than the %lld elements of a %s", name,
                       (long long)matrix->ld, (long long)inner, matrix->order == WM_COL_MAJOR ? "column" : "row");
    if (matrix->batch_stride < 0)
        return wm_fail(WM_ERR_ARGUMENT, "%c.batch_stride is %lld, negative (WM_PACKED apart)", name,
                       (long long)matrix->batch_stride);
    if (matrix->align < element || matrix->align > 4096 || (matrix->align & (matrix->align - 1)))
        return wm_fail(WM_ERR_ARGUMENT, "%c.align is %lld; a power of two from %lld (the element) to 4096", name,
                       (long long)matrix->align, (long long)element);
    if (wm_matrix_span(matrix, shape, d->batch) < 0)
        return wm_fail(WM_ERR_ARGUMENT, "%c has ld %lld and batch_stride %lld: its bytes overflow 63 bits", name,
                       (long long)matrix->ld, (long long)matrix->batch_stride);
    return WM_OK;
}

static wmStatus check_more_types(const wmMatmulDesc *d) {
    const char *more = more_of(d);
    int vectors = d->a.scale > WM_SCALE_TENSOR || d->b.scale > WM_SCALE_TENSOR || d->d.scale > WM_SCALE_TENSOR;
    WM_TRY(check_scale(&d->a, 'a'));
    WM_TRY(check_scale(&d->b, 'b'));
    WM_TRY(check_scale(&d->d, 'd'));
    if (!more && vectors) more = "scale by row or column";
    if (!more && d->d.type == WM_I32)
        more = d->activation > WM_ACT_RELU ? "activation" : d->a.scale || d->b.scale || d->d.scale ? "scale" : NULL;
    if (!more) return WM_OK;
    if (wm_type_is_complex(d->a.type) || d->d.type == WM_I32)
        return wm_fail(WM_ERR_ARGUMENT, "%s is set; %s results have none", more,
                       d->d.type == WM_I32 ? "i32" : "complex");
    if (wm_type_is_complex(d->r.type) || wm_type_is_complex(d->z.type))
        return wm_fail(WM_ERR_ARGUMENT, "r is %s and z %s beside a real d", wmTypeName(d->r.type),
                       wmTypeName(d->z.type));
    if (d->batch_mode != WM_BATCH_STRIDED)
        return wm_fail(WM_ERR_ARGUMENT, "%s is set; batch_mode %s has none", more,
                       d->batch_mode == WM_BATCH_GROUPED ? "grouped" : "pointers");
    return WM_OK;
}

/* i32 goes with i8 operands alone, and is no operand. */
static wmStatus check_type(const wmMatmulDesc *d, wmType type, const char *field, int wide) {
    static const wmType known[] = {WM_F16, WM_BF16, WM_F32, WM_F64, WM_C64, WM_C128, WM_F8E4M3, WM_F8E5M2, WM_I8};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (type == known[i]) return WM_OK;
    if (wide && type == WM_I32 && d->a.type == WM_I8) return WM_OK;
    return wm_fail(WM_ERR_ARGUMENT, "%s is %s, of which there are no products%s", field, wmTypeName(type),
                   type == WM_I32 ? " but of i8 operands" : "");
}

static wmStatus check_known(const wmMatmulDesc *d) {
    WM_TRY(check_type(d, d->a.type, "a.type", 0));
    WM_TRY(check_type(d, d->b.type, "b.type", 0));
    WM_TRY(check_type(d, d->d.type, "d.type", 1)); /* c's is d's where it is not given */
    WM_TRY(check_type(d, d->c.type, "c.type", 1));
    if (d->r.type) WM_TRY(check_type(d, d->r.type, "r.type", 0));
    if (d->z.type) WM_TRY(check_type(d, d->z.type, "z.type", 0));
    if (!d->bias) return WM_OK;
    WM_TRY(check_type(d, d->bias_type, "bias_type", 1));
    if (wm_type_is_complex(d->bias_type) != wm_type_is_complex(d->d.type))
        return wm_fail(WM_ERR_ARGUMENT, "bias_type is %s beside a d of %s", wmTypeName(d->bias_type),
                       wmTypeName(d->d.type));
    return WM_OK;
}

static wmStatus check_types(const wmMatmulDesc *d) {
    WM_TRY(check_known(d));
    int a_complex = wm_type_is_complex(d->a.type);
    if (wm_type_is_complex(d->b.type) != a_complex || wm_type_is_complex(d->d.type) != a_complex ||
        wm_type_is_complex(d->c.type) != a_complex)
        return wm_fail(WM_ERR_ARGUMENT, "a is %s, b %s, c %s, d %s: complex and real operands do not mix",
                       wmTypeName(d->a.type), wmTypeName(d->b.type), wmTypeName(d->c.type), wmTypeName(d->d.type));
    if (d->activation && a_complex)
        return wm_fail(WM_ERR_ARGUMENT, "activation is %d; complex results have none", (int)d->activation);
    if ((d->compute == WM_COMPUTE_I32) != (d->a.type == WM_I8))
        return wm_fail(WM_ERR_ARGUMENT, "compute %s does not go with %s operands",
                       d->compute == WM_COMPUTE_I32 ? "i32" : "in floating point", wmTypeName(d->a.type));
    return check_more_types(d);
}

static wmStatus check_desc(const wmMatmulDesc *d) {
    WM_TRY(check_types(d));
    WM_TRY(check_layout(d, &d->a, 'a'));
    WM_TRY(check_layout(d, &d->b, 'b'));
    WM_TRY(check_layout(d, &d->c, 'c'));
    WM_TRY(check_layout(d, &d->d, 'd'));
    if (d->r.type) WM_TRY(check_layout(d, &d->r, 'r'));
    if (d->z.type) WM_TRY(check_layout(d, &d->z, 'z'));
    if (d->z.type && d->batch > 1 && d->z.batch_stride == 0 && d->m > 0 && d->n > 0)
        return wm_fail(WM_ERR_ARGUMENT, "z.batch_stride is 0 with batch %lld: its matrices would overwrite each other",
                       (long long)d->batch);
    if (d->batch > 1 && d->batch_mode == WM_BATCH_STRIDED && d->d.batch_stride == 0 && d->m > 0 && d->n > 0)
        return wm_fail(WM_ERR_ARGUMENT, "d.batch_stride is 0 with batch %lld: the results would overwrite each other",
                       (long long)d->batch);
    return WM_OK;
}

static wmStatus check_functor(wmMatmulDesc *d) {
    int gpu = d->place == WM_PLACE_GPU;
    WM_TRY(wm_functor_keep_matmul(&d->functor));
    if (d->functor.source && (gpu ? !d->functor.source[0] : !d->functor.host))
        return wm_fail(WM_ERR_ARGUMENT, "functor.%s is NULL, which place %s needs", gpu ? "source" : "host",
                       gpu ? "gpu" : "cpu");
    return WM_OK;
}

wmStatus wm_problem_from_matmul(wm_problem *out, const wmMatmulDesc *desc, wmPlace place) {
    out->op = WM_MATMUL;
    wmMatmulDesc *d = &out->u.matmul;
    WM_TRY(wm_copy_sized(d, sizeof *d, offsetof(wmMatmulDesc, functor), desc, "desc")); /* before functors */
    WM_TRY(wm_fields_check(WM_MATMUL, d));
    WM_TRY(check_sizes(d));
    WM_TRY(wm_place_check(d->place, place));
    d->place = place;
    WM_TRY(check_functor(d));
    wm_matmul_resolve(d);
    return check_desc(d);
}

/* ---- The arguments ---- */

static wmStatus check_scalar(const wmPlan *plan, wmScalar *s, double otherwise, const char *field, int reach) {
    const wmMatmulDesc *d = &wm_plan_problem(plan)->u.matmul;
    switch (s->kind) {
    case WM_SCALAR_DEFAULT:
        *s = wmReal(otherwise);
        return WM_OK;
    case WM_SCALAR_HOST:
        if (s->im != 0 && !wm_type_is_complex(d->d.type))
            return wm_fail(WM_ERR_ARGUMENT, "args.%s has imaginary part %g in a real product", field, s->im);
        return WM_OK;
    case WM_SCALAR_DEVICE: {
        wmType type = wm_matmul_scale_type(d);
        int64_t align = (int64_t)wmTypeSize(type) / (wm_type_is_complex(type) ? 2 : 1);
        return wm_pointer_check(plan, s->device, align, field, reach);
    }
    }
    return wm_fail(WM_ERR_ARGUMENT, "args.%s.kind is %d, which is no wmScalarKind", field, (int)s->kind);
}

/* A pointer array's own alignment is that of pointers; the promise is about the matrices it points to. */
static wmStatus check_matrix(const wmPlan *plan, const void *pointer, const wmMatrixDesc *matrix, const char *field,
                             int reach) {
    int array = wm_plan_problem(plan)->u.matmul.batch_mode == WM_BATCH_POINTERS;
    return wm_pointer_check(plan, pointer, array ? (int64_t)sizeof(void *) : matrix->align, field, reach);
}

static wmStatus check_more_args(const wmPlan *plan, const wmMatmulArgs *args, int reach) {
    const wmMatmulDesc *d = &wm_plan_problem(plan)->u.matmul;
    if (d->gate && !wm_scalar_is(&args->beta, 0))
        return wm_fail(WM_ERR_ARGUMENT, "args.beta is not the host's 0, and a product with a gate has no C");
    if (d->r.type) WM_TRY(check_matrix(plan, args->r, &d->r, "r", reach));
    if (d->z.type) WM_TRY(check_matrix(plan, args->z, &d->z, "z", reach));
    if (d->z.type && (args->z == args->d || args->z == args->r))
        return wm_fail(WM_ERR_ARGUMENT, "args.z is %p, the same as args.%c", args->z, args->z == args->d ? 'd' : 'r');
    if (d->reduction) WM_TRY(wm_pointer_check(plan, args->reduced, d->a.type == WM_F64 ? 8 : 4, "reduced", reach));
    if (d->dropout && !(args->drop >= 0 && args->drop <= 1))
        return wm_fail(WM_ERR_ARGUMENT, "args.drop is %.17g, not from 0 to 1", args->drop);
    if (d->dropout && args->drop_state) return wm_pointer_check(plan, args->drop_state, 8, "drop_state", reach);
    return WM_OK;
}

static wmStatus check_vectors(const wmPlan *plan, const wmMatmulArgs *args, int reach) {
    const wmMatmulDesc *d = &wm_plan_problem(plan)->u.matmul;
    if (d->bias) WM_TRY(wm_pointer_check(plan, args->bias, (int64_t)wmTypeSize(d->bias_type), "bias", reach));
    if (d->a.scale) WM_TRY(wm_pointer_check(plan, args->a_scale, 4, "a_scale", reach));
    if (d->b.scale) WM_TRY(wm_pointer_check(plan, args->b_scale, 4, "b_scale", reach));
    if (d->d.scale) WM_TRY(wm_pointer_check(plan, args->d_scale, 4, "d_scale", reach));
    return check_more_args(plan, args, reach);
}

wmStatus wm_matmul_args_check(const wmPlan *plan, int reach, wm_args *out, int *empty) {
    const wmMatmulDesc *d = &wm_plan_problem(plan)->u.matmul;
    wmMatmulArgs *args = &out->matmul;
    WM_TRY(check_scalar(plan, &args->alpha, 1.0, "alpha", reach));
    WM_TRY(check_scalar(plan, &args->beta, 0.0, "beta", reach));
    *empty = wm_problem_empty(wm_plan_problem(plan));
    if (*empty) return WM_OK;
    if (d->k > 0 && !wm_scalar_is(&args->alpha, 0)) {
        WM_TRY(check_matrix(plan, args->a, &d->a, "a", reach));
        WM_TRY(check_matrix(plan, args->b, &d->b, "b", reach));
    }
    WM_TRY(check_matrix(plan, args->d, &d->d, "d", reach));
    if (d->batch_mode == WM_BATCH_GROUPED)
        WM_TRY(wm_pointer_check(plan, args->groups, (int64_t)sizeof(int64_t), "groups", reach));
    if (!args->c) {
        if ((d->c.type != d->d.type || d->c.order != d->d.order || d->c.ld != d->d.ld ||
             d->c.batch_stride != d->d.batch_stride) &&
            !wm_scalar_is(&args->beta, 0))
            return wm_fail(WM_ERR_ARGUMENT, "args.c is NULL, but c's type or layout in the problem is not d's");
        args->c = args->d;
    } else if (!wm_scalar_is(&args->beta, 0)) {
        WM_TRY(check_matrix(plan, args->c, &d->c, "c", reach));
    }
    if (args->d == args->a || args->d == args->b)
        return wm_fail(WM_ERR_ARGUMENT, "args.d is %p, the same as args.%c", args->d, args->d == args->a ? 'a' : 'b');
    return check_vectors(plan, args, reach);
}

/* ---- The public calls ---- */

wmStatus wmMatmulPlanCreate(wmPlan **plan, wmContext *context, const wmMatmulDesc *desc, const wmPlanOptions *options) {
    wm_problem problem;
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    *plan = NULL;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    WM_TRY(wm_problem_from_matmul(&problem, desc, wmContextPlace(context)));
    return wm_plan_create(plan, context, &problem, options);
}

wmStatus wmMatmulExecute(const wmPlan *plan, const wmMatmulArgs *args, wmStream stream) {
    return wm_execute(plan, WM_MATMUL, args, 0, stream);
}

/* The promise that a pointer keeps: at most 16 bytes, at least the element, so that a misaligned element is refused as
 * such. */
static void promise(wmMatrixDesc *matrix, const wmMatrixDesc *asked, const void *pointer) {
    int64_t element = (int64_t)wmTypeSize(matrix->type);
    if (asked->align || !pointer) return;
    matrix->align = wm_pointer_align(pointer);
    if (matrix->align < element) matrix->align = element;
}

wmStatus wmMatmul(wmContext *context, const wmMatmulDesc *desc, const wmMatmulArgs *args, wmStream stream) {
    wm_problem problem;
    wmMatmulArgs copy;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    WM_TRY(wm_problem_from_matmul(&problem, desc, wmContextPlace(context)));
    WM_TRY(wm_copy_sized(&copy, sizeof copy, offsetof(wmMatmulArgs, functor_user), args, "args"));
    wmMatmulDesc *d = &problem.u.matmul;
    if (d->batch_mode != WM_BATCH_POINTERS) {
        promise(&d->a, &desc->a, copy.a);
        promise(&d->b, &desc->b, copy.b);
        promise(&d->c, &desc->c, copy.c ? copy.c : copy.d);
        promise(&d->d, &desc->d, copy.d);
        if (d->r.type) promise(&d->r, &desc->r, copy.r);
        if (d->z.type) promise(&d->z, &desc->z, copy.z);
    }
    return wm_one_shot(context, &problem, args, stream);
}
