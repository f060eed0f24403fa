/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for problems of every operation: the table walks, and the dispatch to the operation's row. */
#include "fields.h"
#include "operation.h"

#include <string.h>

static const wm_operation *operation(const wm_problem *problem) {
    static const wm_operation *const rows[WM_OPERATIONS] = {[WM_MATMUL] = &wm_operation_matmul,
                                                            [WM_FFT] = &wm_operation_fft,
                                                            [WM_RANDOM] = &wm_operation_random,
                                                            [WM_CONVOLUTION] = &wm_operation_convolution};
    return rows[problem->op];
}

wmPlace wm_problem_place(const wm_problem *problem) {
    switch (problem->op) {
    case WM_MATMUL:
        return problem->u.matmul.place;
    case WM_FFT:
        return problem->u.fft.place;
    case WM_RANDOM:
        return problem->u.random.place;
    case WM_CONVOLUTION:
        return problem->u.convolution.place;
    }
    return WM_PLACE_AUTO;
}

static size_t field_bytes(const wm_field *field) {
    return field->kind == WM_FIELD_I64 ? 8 * (size_t)field->count : 4;
}

int wm_problem_equal(const wm_problem *a, const wm_problem *b) {
    if (a->op != b->op) return 0;
    int count = 0;
    const wm_field *fields = wm_fields(a->op, &count);
    for (int i = 0; i < count; i++) {
        const char *at_a = (const char *)&a->u + fields[i].offset, *at_b = (const char *)&b->u + fields[i].offset;
        if (memcmp(at_a, at_b, field_bytes(&fields[i])) != 0) return 0;
    }
    return 1;
}

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return hash;
}

uint64_t wm_problem_hash(const wm_problem *problem) {
    int count = 0;
    const wm_field *fields = wm_fields(problem->op, &count);
    uint64_t hash = hash_bytes(0xcbf29ce484222325u, wm_op_name(problem->op), strlen(wm_op_name(problem->op)));
    for (int i = 0; i < count; i++)
        hash = hash_bytes(hash, (const char *)&problem->u + fields[i].offset, field_bytes(&fields[i]));
    return hash;
}

uint64_t wm_problem_features(const wm_problem *problem) {
    return operation(problem)->features(problem);
}

const char *wm_feature_name(wm_op op, uint64_t bit) {
    wm_problem any = {.op = op};
    for (const wm_feature *f = operation(&any)->feature_names; f->bit; f++)
        if (f->bit == bit) return f->name;
    return "an unnamed feature";
}

wm_cost wm_problem_cost(const wm_problem *problem) {
    return operation(problem)->cost(problem);
}

int wm_problem_empty(const wm_problem *problem) {
    return operation(problem)->empty(problem);
}

int wm_problem_operands(const wm_problem *problem, wm_operand out[WM_MAX_OPERANDS]) {
    return operation(problem)->operands(problem, out);
}

void wm_problem_bind(const wm_problem *problem, void *const pointers[WM_MAX_OPERANDS], wm_args *out) {
    operation(problem)->bind(problem, pointers, out);
}

wm_bound wm_problem_bound(const wm_problem *problem) {
    return operation(problem)->bound(problem);
}
