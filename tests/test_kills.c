/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight processes at once write wisdom to one file and compiled kernels to one folder, and are killed at random
 * moments, each followed by another. Whatever a process was told is saved is there in the end, and nothing is torn. And
 * disks that are full or read-only. WM_TEST_KILLS=1000 is the long run.
 */
#include "engine_lab.h"
#include "lib/jit_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 8, KERNELS = 48, MOST_NUMBER = 1 << 16 };

static char folder[] = "/tmp/wm_kills_XXXXXX";
static char wisdom[64], kernels[64];

static void open_with(const char *path) {
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = path;
    lab_open(WM_PLACE_CPU, &options);
}

/* ---- What is written ---- */

static wm_problem problem_of(int number) {
    char text[64];
    snprintf(text, sizeof text, "matmul f32 %dx9x5", number);
    return lab_problem(text);
}

static void learn(int number) {
    wm_problem problem = problem_of(number);
    wm_wisdom_learn(lab_now.context, &problem, lab_now.context->solvers[2], &(wm_offer){.knob = {0}}, 1e-3, WM_MEASURE);
}

static int known(int number) {
    wm_wise out;
    wm_problem problem = problem_of(number);
    return wm_wisdom_find(lab_now.context, &problem, &out);
}

static size_t kernel_bytes(int number) {
    return 2000 + (size_t)number * 1777 % 60000;
}

static void fill_kernel(int number, unsigned char *out) {
    for (size_t i = 0; i < kernel_bytes(number); i++) out[i] = (unsigned char)(i * 31 + (size_t)number * 7);
}

/* 1: there and right; 0: not there. What is there and wrong fails the test. */
static int kernel_is_kept(int number) {
    static unsigned char want[65536];
    size_t bytes = 0;
    void *data = wm_jit_file_read(kernels, (wm_jit_key){77, (uint64_t)number}, &bytes);
    if (!data) return 0;
    fill_kernel(number, want);
    int right = bytes == kernel_bytes(number) && memcmp(data, want, bytes) == 0;
    free(data);
    if (!right) fail_msg("kernel %d is not what was written", number);
    return 1;
}

/* ---- Writers ---- */

/* Tells the number once it is saved: positive for wisdom, negative for a kernel. One write of 4 bytes is never torn. */
static void tell(int to, int number) {
    if (write(to, &number, sizeof number) != sizeof number) _exit(3);
}

static void write_for_ever(int first, int to) {
    static unsigned char data[65536];
    open_with("");
    for (int i = 0; i < 400; i++) {
        int kernel = (first * 5 + i * 11) % KERNELS;
        learn(first + i);
        if (wmWisdomSave(lab_now.context, wisdom, NULL) != WM_OK) _exit(2);
        tell(to, first + i);
        fill_kernel(kernel, data);
        wm_jit_file_write(kernels, (wm_jit_key){77, (uint64_t)kernel}, data, kernel_bytes(kernel));
        if (kernel_is_kept(kernel)) tell(to, -1 - kernel);
    }
    for (;;) pause();
}

static pid_t start(int number, int to) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) write_for_ever(1 + number * 400 % (MOST_NUMBER - 400), to);
    assert_true(child > 0);
    return child;
}

static void drain(int from, unsigned char *saved, unsigned char *kept) {
    int number = 0;
    while (read(from, &number, sizeof number) == sizeof number) {
        if (number > 0) saved[number] = 1;
        if (number < 0) kept[-1 - number] = 1;
    }
}

/* ---- Afterwards ---- */

static void check_files(const unsigned char *saved, const unsigned char *kept, long kills) {
    wm_wise_set set = {0};
    wmWisdomCount count = {0, 0, 0};
    int entries = 0, lost = 0, there = 0;
    assert_int_equal(wm_file_read(wisdom, &set, NULL, &count, NULL, NULL), WM_OK);
    assert_int_equal(count.skipped, 0);
    wm_set_clear(&set);
    open_with(wisdom);
    for (int i = 1; i < MOST_NUMBER; i++) {
        entries += saved[i];
        lost += saved[i] && !known(i);
    }
    learn(1); /* the locks of the dead are nobody's */
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_OK);
    lab_close();
    for (int i = 0; i < KERNELS; i++) {
        int found = kernel_is_kept(i);
        there += found;
        lost += kept[i] && !found;
    }
    printf("%ld kills: %d entries and %d kernels saved, %d lost, none torn\n", kills, entries, there, lost);
    assert_int_equal(lost, 0);
    assert_true(entries > 0 && there > 0);
}

static void killed_at_random(void **unused) {
    (void)unused;
    static unsigned char saved[MOST_NUMBER], kept[KERNELS];
    const char *wanted = getenv("WM_TEST_KILLS");
    long kills = wanted ? strtol(wanted, NULL, 10) : 40;
    int ends[2], started = 0;
    pid_t child[WRITERS];
    lab_now.random = (uint64_t)time(NULL);
    uint64_t seed = lab_now.random;
    printf("seed %llu\n", (unsigned long long)seed);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0); /* writers wait for room */
    for (int i = 0; i < WRITERS; i++) child[i] = start(started++, ends[1]);
    for (long i = 0; i < kills; i++) {
        const struct timespec delay = {0, (long)(15000000 * lab_unit())};
        nanosleep(&delay, NULL);
        int who = (int)(WRITERS * lab_unit());
        kill(child[who], SIGKILL);
        int status = 0;
        assert_int_equal(waitpid(child[who], &status, 0), child[who]);
        if (WIFEXITED(status)) fail_msg("a writer ended by itself, with %d", WEXITSTATUS(status));
        drain(ends[0], saved, kept);
        child[who] = start(started++, ends[1]);
    }
    for (int i = 0; i < WRITERS; i++) {
        kill(child[i], SIGKILL);
        assert_int_equal(waitpid(child[i], NULL, 0), child[i]);
    }
    drain(ends[0], saved, kept);
    close(ends[0]);
    close(ends[1]);
    check_files(saved, kept, kills);
}

/* ---- Disks ---- */

/* In a child with mounts of its own: a disk of 64 KiB. Exit codes: 0 right, 77 not allowed here, else what failed. */
static int on_a_small_disk(void) {
    static unsigned char data[65536];
    char path[128], cubins[128];
    struct stat s;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 77;
    snprintf(path, sizeof path, "%s/disk", folder);
    (void)mkdir(path, 0700);
    if (mount("tmpfs", path, "tmpfs", 0, "size=64k,mode=0700") != 0) return 77;
    snprintf(cubins, sizeof cubins, "%s/disk/kernels", folder);
    snprintf(path, sizeof path, "%s/disk/wisdom", folder);
    open_with(path);
    int before = 0, number = 1;
    for (; number < 5000; number++) { /* until the disk is full */
        for (int i = 0; i < 20; i++) learn(20 * number + i);
        if (wmWisdomSave(lab_now.context, NULL, NULL) != WM_OK) break;
        before = 20 * number;
    }
    if (number == 5000 || before == 0 || !strstr(wmLastError(), "No space left")) return 1;
    wmWisdomCount count;
    if (wmWisdomForget(lab_now.context, NULL, NULL) != WM_OK) return 2;
    if (wmWisdomLoad(lab_now.context, path, &count) != WM_OK || count.skipped || !known(before))
        return 3; /* the old one, whole */
    snprintf(path, sizeof path, "%s/disk/wisdom.new", folder);
    if (stat(path, &s) == 0) return 4;
    fill_kernel(40, data);
    wm_jit_file_write(cubins, (wm_jit_key){77, 40}, data, sizeof data); /* does not fit, and says nothing */
    size_t bytes = 0;
    if (wm_jit_file_read(cubins, (wm_jit_key){77, 40}, &bytes)) return 5;
    snprintf(path, sizeof path, "%s/disk", folder);
    if (mount("none", path, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0) return 77;
    learn(7);
    if (wmWisdomSave(lab_now.context, NULL, NULL) != WM_ERR_IO) return 6;
    if (wmWisdomLoad(lab_now.context, lab_now.context->wisdom.path, &count) != WM_OK)
        return 7; /* reading needs no writing */
    wm_jit_file_write(cubins, (wm_jit_key){77, 1}, data, 100);
    wmPlanOptions options = wmPlanOptionsDefault();
    options.effort = WM_MEASURE;
    wmPlanDestroy(lab_plan(NULL, &options)); /* nor does tuning */
    lab_close();
    return 0;
}

static void full_and_read_only_disks(void **unused) {
    (void)unused;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(on_a_small_disk());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("not run: mounting is not allowed here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int make_folder(void **unused) {
    (void)unused;
    if (!mkdtemp(folder)) return 1;
    snprintf(wisdom, sizeof wisdom, "%s/wisdom", folder);
    snprintf(kernels, sizeof kernels, "%s/kernels", folder);
    return 0;
}

static int remove_folder(void **unused) {
    (void)unused;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_random),
        cmocka_unit_test(full_and_read_only_disks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
