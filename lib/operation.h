/* SPDX-License-Identifier: Apache-2.0 */
/* What each operation tells about its problems: one row a domain (problem_matmul.c, problem_fft.c, problem_random.c).
 */
#ifndef WM_LIB_OPERATION_H
#define WM_LIB_OPERATION_H

#include "problem.h"

typedef struct wm_feature {
    uint64_t bit;
    const char *name;
} wm_feature;

typedef struct wm_operation {
    uint64_t (*features)(const wm_problem *problem);
    wm_cost (*cost)(const wm_problem *problem);
    int (*empty)(const wm_problem *problem);
    int (*operands)(const wm_problem *problem, wm_operand out[WM_MAX_OPERANDS]);
    void (*bind)(const wm_problem *problem, void *const pointers[WM_MAX_OPERANDS], wm_args *out);
    wm_bound (*bound)(const wm_problem *problem);
    const wm_feature *feature_names; /* ends with bit 0 */
} wm_operation;

extern const wm_operation wm_operation_matmul, wm_operation_fft, wm_operation_random, wm_operation_convolution;

#endif
