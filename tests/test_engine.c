/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, plans, the search without measurements, the one-shot cache, and what the library says about them. */
#include "engine_lab.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Contexts ---- */

static void places_and_environment(void **unused) {
    (void)unused;
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = "";
    options.cpu_threads = 3;
    options.place = WM_PLACE_CPU;
    assert_int_equal(wmContextCreate(&context, &options), WM_OK);
    assert_int_equal(wmContextPlace(context), WM_PLACE_CPU);
    wmDeviceInfo info = {.size = sizeof info};
    assert_int_equal(wmContextDeviceInfo(context, &info), WM_OK);
    assert_int_equal(info.multiprocessors, 3);
    assert_int_equal(info.ordinal, -1);
    assert_true(info.name[0]);
    wmContextRetain(context);
    wmContextDestroy(context);
    assert_int_equal(wmContextPlace(context), WM_PLACE_CPU);
    wmContextDestroy(context);
    /* A test device: AUTO takes it, WARPMATH_PLACE overrides AUTO alone, nonsense there is ignored. */
    static const struct {
        const char *variable;
        wmPlace option, expected;
    } cases[] = {
        {NULL,      WM_PLACE_AUTO, WM_PLACE_GPU},
        {"cpu",     WM_PLACE_AUTO, WM_PLACE_CPU},
        {"cpu",     WM_PLACE_GPU,  WM_PLACE_GPU},
        {"gpu",     WM_PLACE_CPU,  WM_PLACE_CPU},
        {"hearsay", WM_PLACE_AUTO, WM_PLACE_GPU},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].variable) setenv("WARPMATH_PLACE", cases[i].variable, 1);
        options.place = cases[i].option;
        lab_open(WM_PLACE_GPU, &options);
        assert_int_equal(wmContextPlace(lab_now.context), cases[i].expected);
        lab_close();
        unsetenv("WARPMATH_PLACE");
    }
}

static void no_device(void **unused) {
    (void)unused;
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    wm_fake *none = wm_fake_new(0);
    options.place = WM_PLACE_GPU;
    assert_int_equal(wm_context_create_with(&context, &options, wm_fake_gpu(none), NULL, 0, lab_clock()),
                     WM_ERR_UNSUPPORTED);
    assert_null(context);
    lab_said("no CUDA device");
    options.place = WM_PLACE_AUTO;
    assert_int_equal(wm_context_create_with(&context, &options, wm_fake_gpu(none), NULL, 0, lab_clock()), WM_OK);
    assert_int_equal(wmContextPlace(context), WM_PLACE_CPU);
    wmContextDestroy(context);
    wm_fake_end(none);
    wm_fake *two = wm_fake_new(2);
    options.device = 2;
    assert_int_equal(wm_context_create_with(&context, &options, wm_fake_gpu(two), NULL, 0, lab_clock()),
                     WM_ERR_ARGUMENT);
    lab_said("options.device is 2");
    wm_fake_end(two);
}

/* ---- Log ---- */

static char log_text[4096];

static void take_line(void *user, wmLogLevel level, const char *line) {
    assert_ptr_equal(user, log_text);
    assert_true(level >= WM_LOG_WARNING && level <= WM_LOG_DEBUG);
    assert_null(strchr(line, '\n'));
    wm_append(log_text, sizeof log_text, "%s\n", line);
}

static void log_lines(void **unused) {
    (void)unused;
    wmContextOptions options = wmContextOptionsDefault();
    options.log = take_line;
    options.log_user = log_text;
    for (wmLogLevel level = WM_LOG_DEFAULT; level <= WM_LOG_DEBUG; level++) {
        log_text[0] = '\0';
        options.log_level = level;
        lab_open(WM_PLACE_CPU, &options);
        lab_now.config[LAB_VENDOR].defect = LAB_MAKE_UNSUPPORTED;
        lab_now.config[LAB_VENDOR].estimate = 1e-6;
        lab_now.no_judge = 1;
        wmPlanDestroy(lab_plan(NULL, NULL));
        lab_close();
        assert_int_equal(strstr(log_text, "could not be made") != NULL, level != WM_LOG_OFF);
        assert_int_equal(strstr(log_text, "plan \"matmul f32 17x9x5\"") != NULL, level >= WM_LOG_INFO);
        assert_int_equal(strstr(log_text, "does not offer") != NULL, level >= WM_LOG_DEBUG);
    }
}

/* ---- The search ---- */

static void best_estimate_wins(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.ours = 3;
    lab_now.config[LAB_OURS + 1].estimate = 0.5e-3;
    wmPlan *plan = lab_plan(NULL, NULL);
    assert_string_equal(wmPlanSolver(plan), "lab_ours");
    assert_int_equal(plan->offer.knob[0], 1);
    assert_string_equal(wmPlanProblem(plan), "matmul f32 17x9x5");
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    assert_int_equal(lab_now.config[LAB_VENDOR].runs, 0);
    wmPlanDestroy(plan);
    lab_close();
}

static void failing_makes(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.config[LAB_OURS].estimate = 1e-6;
    lab_now.config[LAB_OURS].defect = LAB_MAKE_UNSUPPORTED;
    wmPlan *plan = lab_plan(NULL, NULL); /* the next best takes over */
    assert_string_equal(wmPlanSolver(plan), "labvendor");
    char *text = lab_explain(plan, WM_TEXT);
    assert_non_null(strstr(text, "told to give up in make"));
    free(text);
    wmPlanDestroy(plan);
    wm_problem problem = lab_problem(NULL);
    wmPlanOptions options = wmPlanOptionsDefault();
    options.fixed_choice = 1; /* a choice that depends on luck is none */
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, &options), WM_ERR_UNSUPPORTED);
    assert_null(plan);
    lab_now.config[LAB_OURS].defect = LAB_MAKE_FAILS; /* short memory, lost devices: the caller must know */
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, NULL), WM_ERR_CUDA);
    lab_said("told to fail in make");
    lab_now.config[LAB_OURS].defect = LAB_MAKE_UNSUPPORTED;
    lab_now.config[LAB_VENDOR].defect = LAB_MAKE_UNSUPPORTED;
    lab_now.config[LAB_JUDGE].defect = LAB_MAKE_UNSUPPORTED;
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, NULL), WM_ERR_UNSUPPORTED);
    lab_close();
}

static void workspace_limits(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    wmPlanOptions options = wmPlanOptionsDefault();
    lab_now.config[LAB_OURS].estimate = 1e-6;
    lab_now.config[LAB_OURS].workspace = 1000;
    wmPlan *plan = lab_plan(NULL, &options);
    size_t bytes = 0;
    assert_string_equal(wmPlanSolver(plan), "lab_ours");
    assert_int_equal(wmPlanWorkspace(plan, &bytes), WM_OK);
    assert_int_equal(bytes, 1000);
    wmPlanDestroy(plan);
    static const int64_t too_small[] = {999, 1, -1};
    for (int i = 0; i < 3; i++) {
        options.workspace_limit = too_small[i];
        plan = lab_plan(NULL, &options);
        assert_string_equal(wmPlanSolver(plan), "labvendor");
        char *text = lab_explain(plan, WM_TEXT);
        assert_non_null(strstr(text, "it needs 1000 bytes of workspace"));
        free(text);
        wmPlanDestroy(plan);
    }
    lab_close();
}

static void nobody_offers(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    lab_open(WM_PLACE_CPU, NULL);
    wm_problem problem = lab_problem("matmul f32 8x1000x8 bias=n act=relu");
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, NULL), WM_ERR_UNSUPPORTED);
    lab_said("matmul f32 8x1000x8 bias=n act=relu");
    lab_said("nearest: without an activation, lab_ours");
    problem = lab_problem("matmul f32 8x1000x8 bias=n");
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, NULL), WM_ERR_UNSUPPORTED);
    lab_said("lab_ours: n = 1000 is not to its taste");
    problem = lab_problem("random bits u32");
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, NULL), WM_ERR_UNSUPPORTED);
    lab_said("none is built in for random");
    lab_close();
}

static void untuned_is_an_error(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    wmPlanOptions options = wmPlanOptionsDefault();
    lab_open(WM_PLACE_CPU, NULL);
    wm_problem problem = lab_problem(NULL);
    options.effort = WM_WISDOM_ONLY;
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, &options), WM_ERR_NO_WISDOM);
    lab_said("matmul f32 17x9x5");
    wm_wisdom_learn(lab_now.context, &problem, lab_now.context->solvers[1], &(wm_offer){.seconds = 1}, 2e-3,
                    WM_MEASURE);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, &options), WM_OK);
    assert_string_equal(wmPlanSolver(plan), "labvendor");
    wmPlanDestroy(plan);
    plan = lab_plan(NULL, NULL); /* estimates follow wisdom too */
    assert_string_equal(wmPlanSolver(plan), "labvendor");
    wmPlanDestroy(plan);
    options = wmPlanOptionsDefault();
    options.fixed_choice = 1; /* and fixed choices do not */
    plan = lab_plan(NULL, &options);
    assert_string_equal(wmPlanSolver(plan), "lab_ours");
    wmPlanDestroy(plan);
    lab_now.no_vendor = 1; /* wisdom of what does not offer any more is no wisdom */
    plan = lab_plan(NULL, NULL);
    assert_string_equal(wmPlanSolver(plan), "lab_ours");
    char *text = lab_explain(plan, WM_TEXT);
    assert_non_null(strstr(text, "wisdom names labvendor@1"));
    free(text);
    wmPlanDestroy(plan);
    lab_close();
    setenv("WARPMATH_FROZEN", "1", 1);
    lab_open(WM_PLACE_CPU, NULL);
    unsetenv("WARPMATH_FROZEN");
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, NULL), WM_ERR_NO_WISDOM);
    lab_said("WARPMATH_FROZEN");
    lab_close();
}

/* ---- Plans ---- */

static void empty_problems(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    wmPlan *plan = lab_plan("matmul f32 0x9x5", NULL);
    wmMatmulArgs args = wmMatmulArgsDefault(NULL, NULL, NULL);
    assert_int_equal(wmMatmulExecute(plan, &args, NULL), WM_OK);
    assert_true(wmPlanBitsId(plan) != 0);
    assert_string_equal(wmPlanSolver(plan), "nothing");
    char *text = lab_explain(plan, WM_JSON);
    lab_check_json(text);
    free(text);
    free(lab_explain(plan, WM_TEXT));
    wmPlanDestroy(plan);
    lab_close();
}

static void references(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    wmContext *context = lab_now.context;
    wmPlan *plan = lab_plan(NULL, NULL);
    wmContextDestroy(context); /* the plan keeps it */
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    wmPlanRetain(plan);
    wmPlanDestroy(plan);
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    wmContextRetain(context);
    wmPlanDestroy(plan);
    lab_close();
}

static void workspaces(void **unused) {
    (void)unused;
    static _Alignas(256) unsigned char room[4096];
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_now.config[LAB_OURS].workspace = 1000;
    wmPlan *plan = lab_plan(NULL, NULL);
    memset(room, 0xee, sizeof room);
    assert_int_equal(lab_execute(plan, room + 256, 1000, NULL), WM_OK);
    assert_int_equal(room[255], 0xee);
    assert_int_equal(room[256 + 999], 0);
    assert_int_equal(room[256 + 1000], 0xee);
    assert_int_equal(lab_execute(plan, room, 999, NULL), WM_ERR_ARGUMENT);
    lab_said("args.workspace_bytes is 999");
    lab_said("1000");
    assert_int_equal(lab_execute(plan, room + 128, 2000, NULL), WM_ERR_ARGUMENT);
    lab_said("multiple of 256");
    for (int i = 0; i < 3; i++) assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    assert_non_null(lab_now.context->arena.blocks); /* one block served all three */
    assert_null(lab_now.context->arena.blocks->next);
    wmPlanDestroy(plan);
    lab_close();
}

static void bits_ids(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.ours = 2;
    lab_now.config[LAB_OURS].estimate = 1e-9;
    wmPlan *a = lab_plan(NULL, NULL), *b = lab_plan(NULL, NULL), *other = lab_plan("matmul f32 17x9x6", NULL);
    assert_true(wmPlanBitsId(a) == wmPlanBitsId(b));
    assert_true(wmPlanBitsId(a) != wmPlanBitsId(other));
    lab_now.config[LAB_OURS + 1].estimate = 1e-10; /* other knobs */
    wmPlan *knobs = lab_plan(NULL, NULL);
    assert_true(wmPlanBitsId(a) != wmPlanBitsId(knobs));
    wmPlanDestroy(a);
    wmPlanDestroy(b);
    wmPlanDestroy(other);
    wmPlanDestroy(knobs);
    lab_close();
}

static void failing_runs(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_now.config[LAB_OURS].defect = LAB_RUN_FAILS;
    wmPlan *plan = lab_plan(NULL, NULL);
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_ERR_VENDOR);
    lab_said("told to fail in run, in \"matmul f32 17x9x5\"");
    lab_now.config[LAB_OURS].defect = LAB_FINE;
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    wmPlanDestroy(plan);
    lab_close();
}

/* ---- Explaining ---- */

static void explanations(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.ours = 4;
    lab_now.no_vendor = 1;
    wmPlan *plan = lab_plan("matmul f32 17x9x5 lda=7", NULL);
    char *text = lab_explain(plan, WM_TEXT), *json = lab_explain(plan, WM_JSON);
    assert_non_null(strstr(text, "chosen by estimate"));
    assert_non_null(strstr(text, "variant=3"));
    assert_non_null(strstr(text, "labvendor absent, tried: nowhere"));
    assert_non_null(strstr(text, "try: WM_MEASURE, which has 5 candidates"));
    assert_non_null(strstr(text, "% of it"));
    lab_check_json(json);
    assert_non_null(strstr(json, "\"roofline_fraction\""));
    /* The buffer's rules: whatever fits, a NUL, the need told. */
    char small[8] = "xxxxxxx";
    size_t needed = 0;
    assert_int_equal(wmPlanExplain(plan, WM_TEXT, small, 5, &needed), WM_OK);
    assert_int_equal(needed, strlen(text) + 1);
    assert_memory_equal(small, "matm\0xx", 8);
    free(text);
    free(json);
    wmPlanDestroy(plan);
    plan = lab_plan("matmul f32 17x9x5 align_b=4", NULL); /* what a change would bring is priced by asking again */
    text = lab_explain(plan, WM_TEXT);
    assert_non_null(strstr(text, "try: b.ld 9 -> 12, b.align 4 -> 16: est. 3 ms -> 1 ms"));
    free(text);
    wmPlanDestroy(plan);
    lab_close();
}

static void context_info(void **unused) {
    (void)unused;
    for (wmPlace place = WM_PLACE_GPU; place <= WM_PLACE_CPU; place++) {
        lab_open(place, NULL);
        for (wmTextFormat format = WM_TEXT; format <= WM_JSON; format++) {
            size_t needed = 0;
            assert_int_equal(wmContextInfo(lab_now.context, format, NULL, 0, &needed), WM_OK);
            char *text = (char *)malloc(needed);
            assert_int_equal(wmContextInfo(lab_now.context, format, text, needed, NULL), WM_OK);
            assert_non_null(strstr(text, "lab_ours"));
            assert_non_null(strstr(text, place == WM_PLACE_GPU ? "cublaslt" : "openblas"));
            if (format == WM_JSON) lab_check_json(text);
            free(text);
        }
        lab_close();
    }
}

/* ---- One-shot calls ---- */

static wmStatus one_shot(const char *text, wmPlan **plan) {
    wm_problem problem = lab_problem(text);
    return wm_context_plan(lab_now.context, &problem, NULL, plan);
}

static void cache_remembers(void **unused) {
    (void)unused;
    wmPlan *first = NULL, *again = NULL;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    assert_int_equal(one_shot(NULL, &first), WM_OK);
    assert_int_equal(one_shot(NULL, &again), WM_OK);
    assert_ptr_equal(first, again);
    assert_int_equal(lab_now.config[LAB_OURS].makes, 1);
    assert_int_equal(lab_now.context->references, 1); /* the cache's plans do not keep their own context alive */
    wmPlanDestroy(first);
    wmPlanDestroy(again);
    lab_close();
}

static void cache_is_bounded(void **unused) {
    (void)unused;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_config *ours = &lab_now.config[LAB_OURS];
    char text[64];
    wmPlan *plan = NULL, *kept = NULL;
    assert_int_equal(one_shot("matmul f32 1x1x1", &kept), WM_OK);
    for (int i = 2; i <= 3 * WM_CACHE_PLANS; i++) {
        snprintf(text, sizeof text, "matmul f32 1x1x%d", i);
        assert_int_equal(one_shot(text, &plan), WM_OK);
        wmPlanDestroy(plan);
        assert_int_equal(one_shot("matmul f32 2x2x2", &plan), WM_OK); /* used all the time: stays */
        wmPlanDestroy(plan);
    }
    assert_int_equal(ours->makes, 3 * WM_CACHE_PLANS + 1);
    assert_int_equal(ours->makes - ours->drops, WM_CACHE_PLANS + 1); /* the evicted one in use among them */
    assert_int_equal(lab_execute(kept, NULL, 0, NULL), WM_OK);
    wmPlanDestroy(kept);
    assert_int_equal(ours->makes - ours->drops, WM_CACHE_PLANS);
    lab_close();
}

static void cache_forgets_failures(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_now.config[LAB_OURS].defect = LAB_MAKE_FAILS;
    assert_int_equal(one_shot(NULL, &plan), WM_ERR_CUDA);
    assert_null(plan);
    lab_now.config[LAB_OURS].defect = LAB_FINE;
    assert_int_equal(one_shot(NULL, &plan), WM_OK);
    wmPlanDestroy(plan);
    lab_close();
}

/* ---- Fork ---- */

static int in_child(int (*check)(void)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(check() ? 0 : 1);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static wmPlan *parents_plan;

static int child_checks(void) {
    wm_args args;
    wmPlan *plan = NULL;
    wm_problem problem = lab_problem(NULL);
    memset(&args, 0, sizeof args);
    int good = wm_plan_execute(parents_plan, &args, NULL) == WM_ERR_STATE && strstr(wmLastError(), "forked");
    good = good && wm_plan_create(&plan, lab_now.context, &problem, NULL) == WM_ERR_STATE && !plan;
    good = good && wmWisdomSave(lab_now.context, NULL, NULL) == WM_ERR_STATE;
    long calls = lab_now.fake ? wm_fake_calls(lab_now.fake) : 0;
    wmPlanDestroy(parents_plan); /* quietly, and without a word to the device */
    wmContextDestroy(lab_now.context);
    good = good && (!lab_now.fake || wm_fake_calls(lab_now.fake) == calls);
    return good;
}

static void forked_children(void **unused) {
    (void)unused;
    for (wmPlace place = WM_PLACE_GPU; place <= WM_PLACE_CPU; place++) {
        lab_open(place, NULL);
        parents_plan = lab_plan(NULL, NULL);
        assert_true(in_child(child_checks));
        assert_int_equal(lab_execute(parents_plan, NULL, 0, NULL), WM_OK);
        wmPlanDestroy(parents_plan);
        lab_close();
    }
}

/* ---- Allocators ---- */

typedef struct ledger {
    int blocks;
    size_t bytes;
    int refuse, misalign;
} ledger;

static void *ledger_alloc(void *user, size_t bytes, size_t align, int device, wmStream stream) {
    ledger *l = (ledger *)user;
    (void)stream;
    assert_int_equal(device, -1);
    assert_int_equal(align, 256);
    assert_int_equal(bytes % 256, 0);
    if (l->refuse) return NULL;
    l->blocks++;
    l->bytes += bytes;
    char *block = (char *)aligned_alloc(256, bytes + 256);
    return block + (l->misalign ? 16 : 0);
}

static void ledger_free(void *user, void *pointer, size_t bytes, wmStream stream) {
    ledger *l = (ledger *)user;
    (void)stream;
    l->blocks--;
    l->bytes -= bytes;
    free((char *)pointer - (l->misalign ? 16 : 0));
}

static void callers_allocator(void **unused) {
    (void)unused;
    ledger l = {0, 0, 0, 0};
    void *pointer = NULL, *other = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.allocator = (wmAllocator){ledger_alloc, ledger_free, &l};
    lab_open(WM_PLACE_CPU, &options);
    lab_now.config[LAB_OURS].estimate = 1e-9;
    lab_now.config[LAB_OURS].workspace = 5000;
    wmPlan *plan = lab_plan(NULL, NULL);
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    assert_int_equal(wmAlloc(&pointer, lab_now.context, 1000), WM_OK);
    assert_int_equal(wmAlloc(&other, lab_now.context, 1), WM_OK);
    assert_int_equal(l.blocks, 4); /* the plan's table, the arena's block, these two */
    assert_int_equal(l.bytes, 256 + 5120 + 1024 + 256);
    wmFree(lab_now.context, pointer);
    wmFree(lab_now.context, other);
    wmFree(lab_now.context, &l); /* not its own: left alone */
    l.refuse = 1;
    assert_int_equal(wmAlloc(&pointer, lab_now.context, 1000), WM_ERR_MEMORY);
    assert_null(pointer);
    lab_said("1000 bytes");
    l.refuse = 0;
    l.misalign = 1;
    assert_int_equal(wmAlloc(&pointer, lab_now.context, 1000), WM_ERR_ARGUMENT);
    l.misalign = 0;
    wmPlanDestroy(plan);
    lab_close();
    assert_int_equal(l.blocks, 0);
    assert_int_equal(l.bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_and_environment),
        cmocka_unit_test(no_device),
        cmocka_unit_test(log_lines),
        cmocka_unit_test(best_estimate_wins),
        cmocka_unit_test(failing_makes),
        cmocka_unit_test(workspace_limits),
        cmocka_unit_test(nobody_offers),
        cmocka_unit_test(untuned_is_an_error),

        cmocka_unit_test(empty_problems),
        cmocka_unit_test(references),
        cmocka_unit_test(workspaces),
        cmocka_unit_test(bits_ids),
        cmocka_unit_test(failing_runs),
        cmocka_unit_test(explanations),
        cmocka_unit_test(context_info),
        cmocka_unit_test(cache_remembers),
        cmocka_unit_test(cache_is_bounded),
        cmocka_unit_test(cache_forgets_failures),
        cmocka_unit_test(forked_children),
        cmocka_unit_test(callers_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
