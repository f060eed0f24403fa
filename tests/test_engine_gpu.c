/* SPDX-License-Identifier: Apache-2.0 */
/* The engine on a device: what it leaves alone, captures, streams, graphs, and what happens when the device fails. */
#include "engine_lab.h"

#include <stdio.h>
#include <unistd.h>

static const wm_gpu *gpu(void) {
    return wm_fake_gpu(lab_now.fake);
}

static wmStream new_stream(void) {
    wmStream stream = NULL;
    assert_int_equal(gpu()->stream_create(gpu()->self, &stream), 0);
    return stream;
}

static void end_stream(wmStream stream) {
    assert_int_equal(gpu()->stream_destroy(gpu()->self, stream), 0);
}

/* Ours is the best offer, with or without workspace. */
static void open_gpu(size_t workspace) {
    lab_open(WM_PLACE_GPU, NULL);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_now.config[LAB_OURS].workspace = workspace;
}

/* Operands on the device, for executions whose results do not matter. */
static wmMatmulArgs operands(float **memory) {
    void *pointer = NULL;
    assert_int_equal(wmAlloc(&pointer, lab_now.context, 4096), WM_OK);
    assert_int_equal(gpu()->set(gpu()->self, pointer, 0, 4096, NULL), 0);
    assert_int_equal(gpu()->stream_wait(gpu()->self, NULL), 0);
    *memory = (float *)pointer;
    return wmMatmulArgsDefault(*memory, *memory + 128, *memory + 256);
}

/* ---- What belongs to the caller ---- */

static void device_and_pending_error_stay(void **unused) {
    (void)unused;
    open_gpu(0);
    int device = -1;
    assert_int_equal(gpu()->set_device(gpu()->self, 1), 0);
    wm_fake_set_pending(77);
    wmPlan *plan = lab_plan(NULL, NULL);
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    wmPlanDestroy(plan);
    assert_int_equal(gpu()->get_device(gpu()->self, &device), 0);
    assert_int_equal(device, 1);
    assert_int_equal(gpu()->peek_error(gpu()->self), 77); /* the caller's own error is still there for the caller */
    assert_int_equal(gpu()->clear_error(gpu()->self), 77);
    wm_problem problem = lab_problem(NULL);
    wm_fake_fail_at(lab_now.fake, 2, WM_FAKE_OUT_OF_MEMORY);
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, NULL), WM_ERR_MEMORY);
    assert_int_equal(wmLastCudaError(), WM_FAKE_OUT_OF_MEMORY);
    assert_int_equal(gpu()->peek_error(gpu()->self), 0); /* and ours is not */
    assert_int_equal(gpu()->get_device(gpu()->self, &device), 0);
    assert_int_equal(device, 1);
    lab_close();
}

static void poisoned_device(void **unused) {
    (void)unused;
    open_gpu(0);
    wmPlan *plan = lab_plan(NULL, NULL), *other = NULL;
    wm_problem problem = lab_problem(NULL);
    float *memory;
    wmMatmulArgs args = operands(&memory);
    wm_fake_poison(lab_now.fake, WM_FAKE_ILLEGAL_ADDRESS);
    assert_int_equal(wmMatmulExecute(plan, &args, NULL), WM_ERR_CUDA);
    assert_int_equal(wmLastCudaError(), WM_FAKE_ILLEGAL_ADDRESS);
    lab_said("lost to this process");
    assert_int_equal(wmMatmulExecute(plan, &args, NULL), WM_ERR_STATE);
    lab_said("poisoned by an earlier fault");
    assert_int_equal(wm_plan_create(&other, lab_now.context, &problem, NULL), WM_ERR_STATE);
    wmPlanDestroy(plan); /* host memory goes, nothing aborts */
    wmFree(lab_now.context, memory);
    wm_fake_poison(lab_now.fake, 0);
    wmContextDestroy(lab_now.context);
    wm_fake_end(lab_now.fake);
}

/* ---- The arena ---- */

static int blocks(void) {
    int count = 0;
    for (const wm_block *b = lab_now.context->arena.blocks; b; b = b->next) count++;
    return count;
}

static void streams_have_their_own_workspace(void **unused) {
    (void)unused;
    open_gpu(1000);
    wmPlan *plan = lab_plan(NULL, NULL);
    wmStream one = new_stream(), two = new_stream();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lab_execute(plan, NULL, 0, one), WM_OK);
        assert_int_equal(lab_execute(plan, NULL, 0, two), WM_OK);
    }
    assert_int_equal(blocks(), 2);
    end_stream(two);
    wmStream three = new_stream(); /* may have the same address: it is another stream all the same */
    assert_int_equal(lab_execute(plan, NULL, 0, three), WM_OK);
    assert_int_equal(blocks(), 3);
    end_stream(one);
    end_stream(three);
    for (int i = 0; i < 100; i++) { /* what streams leave behind does not pile up */
        wmStream stream = new_stream();
        assert_int_equal(lab_execute(plan, NULL, 0, stream), WM_OK);
        end_stream(stream);
    }
    assert_true(blocks() <= 40);
    wmPlanDestroy(plan);
    lab_close();
}

static void workspace_grows_beside_the_old_block(void **unused) {
    (void)unused;
    open_gpu(1000);
    wmPlan *small = lab_plan(NULL, NULL);
    lab_now.config[LAB_OURS].workspace = 100000;
    wmPlan *large = lab_plan(NULL, NULL);
    wm_block *block = NULL, *second = NULL;
    assert_int_equal(wm_arena_take(lab_now.context, 1000, NULL, &block), WM_OK);
    assert_int_equal(wm_arena_take(lab_now.context, 1000, NULL, &second), WM_OK); /* two threads enqueue at once */
    assert_true(block != second && block->pointer != second->pointer);
    void *pointer = block->pointer;
    lab_now.config[LAB_OURS].workspace = 100000;
    assert_int_equal(lab_execute(large, NULL, 0, NULL), WM_OK);
    assert_ptr_equal(block->pointer, pointer); /* taken: neither moved nor freed */
    assert_int_equal(gpu()->set(gpu()->self, pointer, 1, 1000, NULL), 0);
    wm_arena_give(lab_now.context, block);
    wm_arena_give(lab_now.context, second);
    lab_now.config[LAB_OURS].workspace = 1000;
    assert_int_equal(lab_execute(small, NULL, 0, NULL), WM_OK);
    wmPlanDestroy(small);
    wmPlanDestroy(large);
    lab_close();
}

/* ---- Captures ---- */

static void captures_need_the_callers_workspace(void **unused) {
    (void)unused;
    open_gpu(1000);
    wmPlan *plan = lab_plan(NULL, NULL);
    wmStream stream = new_stream();
    float *memory;
    void *workspace = NULL;
    wmMatmulArgs args = operands(&memory);
    assert_int_equal(wmAlloc(&workspace, lab_now.context, 1000), WM_OK);
    assert_int_equal(gpu()->capture_begin(gpu()->self, stream), 0);
    assert_int_equal(wmMatmulExecute(plan, &args, stream), WM_ERR_STATE);
    lab_said("1000 bytes");
    args.workspace = workspace;
    args.workspace_bytes = 1000;
    assert_int_equal(wmMatmulExecute(plan, &args, stream), WM_OK);
    wmGraph graph = NULL;
    assert_int_equal(gpu()->capture_end(gpu()->self, stream, &graph), 0); /* the failed call did not spoil it */
    /* The graph keeps the plan, and lets go where no CUDA call is allowed. */
    assert_int_equal(wmPlanRetainInGraph(plan, graph), WM_OK);
    wmPlanDestroy(plan);
    assert_int_equal(lab_now.config[LAB_OURS].drops, 0);
    void *exec = NULL;
    assert_int_equal(gpu()->graph_instantiate(gpu()->self, graph, &exec), 0);
    assert_int_equal(gpu()->graph_launch(gpu()->self, exec, stream), 0);
    assert_int_equal(gpu()->stream_wait(gpu()->self, stream), 0);
    assert_int_equal(gpu()->graph_destroy(gpu()->self, graph, exec), 0);
    assert_int_equal(lab_now.config[LAB_OURS].drops, 0);
    wm_plan_reap();
    assert_int_equal(lab_now.config[LAB_OURS].drops, 1);
    wmFree(lab_now.context, workspace);
    wmFree(lab_now.context, memory);
    end_stream(stream);
    lab_close();
}

static void graph_that_takes_nothing(void **unused) {
    (void)unused;
    open_gpu(0);
    wmPlan *plan = lab_plan(NULL, NULL);
    assert_int_equal(wmPlanRetainInGraph(plan, NULL), WM_ERR_ARGUMENT);
    wm_fake_fail_at(lab_now.fake, 1, WM_FAKE_INVALID_VALUE);
    int dummy = 0;
    assert_int_equal(wmPlanRetainInGraph(plan, (wmGraph)(void *)&dummy), WM_ERR_CUDA);
    assert_int_equal(plan->references, 1);
    wmPlanDestroy(plan);
    lab_close();
}

static void uncapturable_solvers(void **unused) {
    (void)unused;
    open_gpu(0);
    lab_now.config[LAB_OURS].not_capturable = 1;
    wmPlan *plan = lab_plan(NULL, NULL);
    wmStream stream = new_stream();
    float *memory;
    wmMatmulArgs args = operands(&memory);
    assert_int_equal(wmPlanCapturable(plan), 0);
    wm_fake_set_capturing(lab_now.fake, stream, 1);
    assert_int_equal(wmMatmulExecute(plan, &args, stream), WM_ERR_STATE);
    lab_said("lab_ours cannot be captured");
    wm_fake_set_capturing(lab_now.fake, stream, 0);
    assert_int_equal(wmMatmulExecute(plan, &args, stream), WM_OK);
    wmFree(lab_now.context, memory);
    wmPlanDestroy(plan);
    end_stream(stream);
    lab_close();
}

static void one_shots_in_captures(void **unused) {
    (void)unused;
    open_gpu(0);
    wmMatmulDesc desc = wmMatmulDescDefault(WM_F32, 8, 8, 8);
    wmStream stream = new_stream();
    float *memory;
    wmMatmulArgs args = operands(&memory);
    wmGraph graph = NULL;
    assert_int_equal(gpu()->capture_begin(gpu()->self, stream), 0);
    assert_int_equal(wmMatmul(lab_now.context, &desc, &args, stream), WM_ERR_STATE);
    lab_said("not planned yet");
    assert_int_equal(gpu()->capture_end(gpu()->self, stream, &graph), 0);
    assert_int_equal(gpu()->graph_destroy(gpu()->self, graph, NULL), 0);
    assert_int_equal(wmMatmul(lab_now.context, &desc, &args, stream), WM_OK);
    assert_int_equal(gpu()->capture_begin(gpu()->self, stream), 0);
    assert_int_equal(wmMatmul(lab_now.context, &desc, &args, stream), WM_OK);
    assert_int_equal(gpu()->capture_end(gpu()->self, stream, &graph), 0);
    /* Captured, its plan stays however many others come. */
    for (int i = 1; i <= 2 * WM_CACHE_PLANS; i++) {
        wmMatmulDesc other = wmMatmulDescDefault(WM_F32, 1, 1, i);
        assert_int_equal(wmMatmul(lab_now.context, &other, &args, stream), WM_OK);
    }
    int makes = lab_now.config[LAB_OURS].makes;
    assert_int_equal(wmMatmul(lab_now.context, &desc, &args, stream), WM_OK);
    assert_int_equal(lab_now.config[LAB_OURS].makes, makes);
    assert_int_equal(gpu()->graph_destroy(gpu()->self, graph, NULL), 0);
    wmFree(lab_now.context, memory);
    end_stream(stream);
    lab_close();
}

/* ---- Pointers ---- */

static void unreachable_pointers(void **unused) {
    (void)unused;
    open_gpu(0);
    static _Alignas(16) float host[256];
    wmMatmulDesc desc = wmMatmulDescDefault(WM_F32, 8, 8, 8);
    float *memory;
    wmMatmulArgs args = operands(&memory);
    args.b = host;
    assert_int_equal(wmMatmul(lab_now.context, &desc, &args, NULL), WM_ERR_ARGUMENT);
    lab_said("args.b");
    wm_fake_set_pageable(lab_now.fake, 1); /* a system whose device reaches all memory */
    assert_int_equal(wm_context_reach(lab_now.context, host, "b"), WM_OK);
    wmFree(lab_now.context, memory);
    lab_close();
}

/* ---- Allocators and the time of freeing ---- */

typedef struct ledger {
    int allocs, frees, ordered;
} ledger;

static void *ledger_alloc(void *user, size_t bytes, size_t align, int device, wmStream stream) {
    void *out = NULL;
    (void)align, (void)stream;
    assert_int_equal(device, 0);
    ((ledger *)user)->allocs++;
    return gpu()->alloc(gpu()->self, &out, bytes) == 0 ? out : NULL;
}

static void ledger_free(void *user, void *pointer, size_t bytes, wmStream stream) {
    (void)bytes;
    ((ledger *)user)->frees++;
    ((ledger *)user)->ordered += stream != NULL;
    assert_int_equal(gpu()->free(gpu()->self, pointer), 0);
}

static void callers_allocator(void **unused) {
    (void)unused;
    ledger l = {0, 0, 0};
    wmContextOptions options = wmContextOptionsDefault();
    options.allocator = (wmAllocator){ledger_alloc, ledger_free, &l};
    lab_open(WM_PLACE_GPU, &options);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_now.config[LAB_OURS].workspace = 1000;
    wmPlan *plan = lab_plan(NULL, NULL);
    wmStream stream = new_stream();
    assert_int_equal(lab_execute(plan, NULL, 0, stream), WM_OK);
    lab_now.config[LAB_OURS].workspace = 2000;
    wmPlan *larger = lab_plan(NULL, NULL);
    assert_int_equal(lab_execute(larger, NULL, 0, stream), WM_OK);
    assert_int_equal(l.ordered, 1); /* the smaller block, in the order of its stream */
    /* Freed while a stream captures: the device may not be waited for, so the state's memory stays for now. */
    wm_fake_set_capturing(lab_now.fake, stream, 1);
    int frees = l.frees;
    wmPlanDestroy(plan);
    wm_fake_set_capturing(lab_now.fake, stream, 0);
    wmPlanDestroy(larger);
    assert_int_equal(l.frees, frees + 2);
    end_stream(stream);
    lab_close();
    assert_int_equal(l.allocs, l.frees);
}

/* A kernel without a row in perf/verified.csv offers only where the user asks for it, and says why it does not. */
static void unverified_kernels(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    lab_open(WM_PLACE_GPU, NULL);
    wm_solver row = *lab_now.context->solvers[2];
    const wm_solver *const rows[] = {lab_now.context->solvers[1], &row};
    row.name = "lab_unverified";
    lab_now.context->solvers = rows;
    lab_now.context->solver_count = 2;
    lab_now.config[LAB_OURS].estimate = 1e-9;
    for (int asked = 0; asked < 2; asked++) {
        lab_now.context->unverified = asked;
        plan = lab_plan(NULL, NULL);
        assert_string_equal(wmPlanSolver(plan), asked ? "lab_unverified" : "labvendor");
        char *text = lab_explain(plan, WM_TEXT);
        assert_int_equal(strstr(text, "not verified on a GPU as it stands") != NULL, !asked);
        free(text);
        wmPlanDestroy(plan);
    }
    lab_now.context->unverified = 0;
    lab_now.no_vendor = 1;
    wm_problem problem = lab_problem(NULL);
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, NULL), WM_ERR_UNSUPPORTED);
    lab_said("lab_unverified: not verified on a GPU as it stands (WARPMATH_UNVERIFIED=1 lets it offer)");
    row.origin = WM_VENDOR; /* the rule is about kernels of ours */
    wmPlanDestroy(lab_plan(NULL, NULL));
    lab_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_and_pending_error_stay),
        cmocka_unit_test(poisoned_device),
        cmocka_unit_test(streams_have_their_own_workspace),
        cmocka_unit_test(workspace_grows_beside_the_old_block),
        cmocka_unit_test(captures_need_the_callers_workspace),
        cmocka_unit_test(graph_that_takes_nothing),
        cmocka_unit_test(uncapturable_solvers),
        cmocka_unit_test(one_shots_in_captures),
        cmocka_unit_test(unreachable_pointers),
        cmocka_unit_test(callers_allocator),
        cmocka_unit_test(unverified_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
