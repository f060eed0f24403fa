/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom: lines and files survive the round trip and nothing else survives damage, strangers, rivals and kill -9. */
#include "engine_lab.h"
#include "lib/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/wm_wisdom_XXXXXX";

static const char *in_folder(const char *name) {
    static char path[4][256];
    static int turn;
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static wm_wise wise(int number) {
    wm_wise w = {.machine = 0x1234567890abcdef + (uint64_t)(number % 3),
                 .effort = number % 2 ? WM_MEASURE : WM_EXHAUSTIVE,
                 .seconds = 1e-6 * (number + 1),
                 .stamp = 1700000000 + number,
                 .version = number % 7};
    snprintf(w.solver, sizeof w.solver, "solver_%d", number % 11);
    if (number % 5) snprintf(w.knobs, sizeof w.knobs, "tile=%d,stages=%d", number, number % 4);
    snprintf(w.problem, sizeof w.problem, "matmul f32 %dx%dx%d", number + 1, number % 13 + 1, 7);
    return w;
}

static void write_file(const char *path, const void *data, size_t bytes) {
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), bytes);
    close(fd);
}

static char *read_file(const char *path, size_t *bytes) {
    static char data[1 << 20];
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    ssize_t n = read(fd, data, sizeof data - 1);
    assert_true(n >= 0);
    close(fd);
    data[n] = '\0';
    if (bytes) *bytes = (size_t)n;
    return data;
}

static void same(const wm_wise *a, const wm_wise *b) {
    assert_true(a->machine == b->machine);
    assert_int_equal(a->effort, b->effort);
    assert_true(a->stamp == b->stamp);
    assert_int_equal(a->version, b->version);
    assert_string_equal(a->solver, b->solver);
    assert_string_equal(a->knobs, b->knobs);
    assert_string_equal(a->problem, b->problem);
}

/* ---- Lines ---- */

static void checksum(void **unused) {
    (void)unused;
    assert_int_equal(wm_crc32c("123456789", 9), 0xe3069283); /* the check value of RFC 3720's polynomial */
}

static void lines_round_trip(void **unused) {
    (void)unused;
    for (int i = 0; i < 50; i++) {
        wm_wise entry = wise(i), got;
        wm_machine machine;
        wm_text text = {0};
        wm_line_entry(&text, &entry);
        assert_int_equal(wm_line_read(text.data, text.length - 1, &got, &machine), WM_LINE_ENTRY);
        same(&entry, &got);
        assert_true(got.seconds > 0.999999 * entry.seconds && got.seconds < 1.000001 * entry.seconds);
        wm_text_free(&text);
    }
    wm_machine machine = {.text = "gpu=A_B sm=90"}, got;
    machine.hash = wm_hash_text(WM_HASH_START, machine.text);
    wm_text text = {0};
    wm_wise entry;
    wm_line_machine(&text, &machine);
    assert_int_equal(wm_line_read(text.data, text.length - 1, &entry, &got), WM_LINE_MACHINE);
    assert_string_equal(machine.text, got.text);
    wm_text_free(&text);
}

/* Every prefix, every flipped bit, every changed byte of a line: never taken for good. */
static void damaged_lines(void **unused) {
    (void)unused;
    wm_wise entry = wise(8), got;
    wm_machine machine;
    wm_text text = {0};
    wm_line_entry(&text, &entry);
    size_t length = text.length - 1;
    for (size_t cut = 1; cut < length; cut++) {
        assert_int_equal(wm_line_read(text.data, cut, &got, &machine), WM_LINE_BAD);
    }
    for (size_t bit = 0; bit < 8 * length; bit++) {
        text.data[bit / 8] ^= (char)(1 << (bit % 8));
        wm_line kind = wm_line_read(text.data, length, &got, &machine);
        /* "w3 ..." is a later format's business, and '#' a comment: neither is taken for an entry. */
        if (kind != WM_LINE_BAD) assert_true(kind == WM_LINE_NEWER && bit / 8 == 1);
        text.data[bit / 8] ^= (char)(1 << (bit % 8));
    }
    wm_text_free(&text);
    static const char *const odd[] = {"w1", "w1 ",  "w",  "w1 00000000 ", "w1 00000000 entry", "w10 future", "w2 x",
                                      "x",  "w02 ", "# ", "w1\t",         "w99999 x",          "w999999 x"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        wm_line kind = wm_line_read(odd[i], strlen(odd[i]), &got, &machine);
        assert_true(kind != WM_LINE_ENTRY && kind != WM_LINE_MACHINE);
    }
}

/* Lines whose checksum is right and whose fields are not. */
static void forged_lines(void **unused) {
    (void)unused;
    static const char *const bodies[] = {
        "entry 1234567890abcdef measure 5 6 s@1 - ",
        "entry 1234567890abcdef measure 5 6 s@1  matmul",
        "entry 1234567890abcdef measure 5 6 s - matmul f32 1x1x1",
        "entry 1234567890abcdef measure 5 6 @1 - matmul f32 1x1x1",
        "entry 1234567890abcdef measure 5 6 s@99999999999 - matmul f32 1x1x1",
        "entry 1234567890abcdef measure -5 6 s@1 - matmul f32 1x1x1",
        "entry 1234567890abcdef measure 99999999999999999999 6 s@1 - matmul f32 1x1x1",
        "entry 1234567890ABCDEF measure 5 6 s@1 - matmul f32 1x1x1",
        "entry 1234567890abcde measure 5 6 s@1 - matmul f32 1x1x1",
        "entry 1234567890abcdef guess 5 6 s@1 - matmul f32 1x1x1",
        "entry 1234567890abcdef measure 5.5 6 s@1 - matmul f32 1x1x1",
        "machine 1234567890abcdef some other machine's text",
        "recipe 1234567890abcdef",
        "",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char line[256];
        wm_wise entry;
        wm_machine machine;
        snprintf(line, sizeof line, "w1 %08x %s", (unsigned)wm_crc32c(bodies[i], strlen(bodies[i])), bodies[i]);
        if (wm_line_read(line, strlen(line), &entry, &machine) != WM_LINE_BAD) fail_msg("taken: %s", bodies[i]);
    }
}

/* ---- Merging ---- */

static int is_stale(void *user, const wm_wise *entry) {
    (void)user;
    return entry->version == 99;
}

static void merging(void **unused) {
    (void)unused;
    wm_wise_set set = {0};
    wm_wise old = wise(1), newer = wise(1), harder = wise(1), stale = wise(1);
    newer.stamp += 10;
    harder.effort = WM_EXHAUSTIVE;
    harder.stamp -= 100;
    stale.effort = WM_EXHAUSTIVE;
    stale.stamp += 1000;
    stale.version = 99;
    assert_int_equal(wm_set_add(&set, &stale, is_stale, NULL), WM_OK);
    assert_int_equal(wm_set_add(&set, &old, is_stale, NULL), WM_OK); /* what fits no solver gives way */
    same(set.entry[0], &old);
    assert_int_equal(wm_set_add(&set, &stale, is_stale, NULL), WM_OK);
    same(set.entry[0], &old);
    assert_int_equal(wm_set_add(&set, &newer, is_stale, NULL), WM_OK);
    same(set.entry[0], &newer);
    assert_int_equal(wm_set_add(&set, &old, is_stale, NULL), WM_OK);
    same(set.entry[0], &newer);
    assert_int_equal(wm_set_add(&set, &harder, is_stale, NULL), WM_OK);
    same(set.entry[0], &harder);
    assert_int_equal(set.count, 1);
    for (int i = 0; i < 300; i++) {
        wm_wise w = wise((i * 37) % 300);
        assert_int_equal(wm_set_add(&set, &w, NULL, NULL), WM_OK);
    }
    assert_int_equal(set.count, 300);
    for (int i = 0; i < 300; i++) {
        wm_wise w = wise(i);
        assert_non_null(wm_set_find(&set, w.problem, w.machine));
        assert_null(wm_set_find(&set, w.problem, w.machine + 1));
        if (i) assert_true(strcmp(set.entry[i - 1]->problem, set.entry[i]->problem) <= 0);
    }
    wm_set_clear(&set);
}

/* ---- Contexts and files ---- */

static void learn(int number) {
    char text[64];
    snprintf(text, sizeof text, "matmul f32 %dx9x5", number);
    wm_problem problem = lab_problem(text);
    wm_wisdom_learn(lab_now.context, &problem, lab_now.context->solvers[2], &(wm_offer){.knob = {0}}, 1e-3, WM_MEASURE);
}

static int known(int number) {
    char text[64];
    wm_wise out;
    snprintf(text, sizeof text, "matmul f32 %dx9x5", number);
    wm_problem problem = lab_problem(text);
    return wm_wisdom_find(lab_now.context, &problem, &out);
}

static void open_with(const char *path) {
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = path;
    lab_open(WM_PLACE_CPU, &options);
}

static void save_and_load(void **unused) {
    (void)unused;
    const char *path = in_folder("new/and/deep/wisdom");
    wmWisdomCount count;
    open_with(path);
    for (int i = 1; i <= 20; i++) learn(i);
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, &count), WM_OK);
    assert_int_equal(count.used, 20);
    lab_close();
    struct stat s;
    assert_int_equal(stat(in_folder("new/and"), &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    open_with(path); /* read when the context is made */
    for (int i = 1; i <= 20; i++) assert_true(known(i));
    assert_false(known(21));
    learn(21);
    assert_int_equal(wmWisdomForget(lab_now.context, "matmul f32 1?x9*", &count), WM_OK);
    assert_int_equal(count.used, 10);
    assert_false(known(15));
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, &count), WM_OK);
    assert_int_equal(count.used, 11); /* forgotten in the file as well */
    assert_int_equal(wmWisdomForget(lab_now.context, NULL, &count), WM_OK);
    assert_int_equal(count.used, 11);
    assert_int_equal(wmWisdomLoad(lab_now.context, path, &count), WM_OK);
    assert_int_equal(count.used, 11);
    assert_int_equal(count.other, 0);
    assert_int_equal(count.skipped, 0);
    assert_true(known(21) && known(9) && !known(10));
    lab_close();
}

/* Where a context looks when its options do not say. */
static void paths(void **unused) {
    (void)unused;
    static const char *const names[] = {"HOME", "XDG_CACHE_HOME", "WARPMATH_CACHE_DIR", "WARPMATH_WISDOM"};
    static const char *const values[] = {"/h", "/x", "/c", "/w"};
    static const char *const expected[] = {"/h/.cache/warpmath/wisdom", "/x/warpmath/wisdom", "/c/wisdom", "/w"};
    char *old[4];
    for (int i = 0; i < 4; i++) {
        const char *value = getenv(names[i]);
        old[i] = value ? strdup(value) : NULL;
        unsetenv(names[i]);
    }
    for (int i = 0; i < 4; i++) {
        setenv(names[i], values[i], 1);
        lab_open(WM_PLACE_CPU, NULL);
        assert_int_equal(wm_wisdom_open(lab_now.context, NULL), WM_OK);
        assert_string_equal(lab_now.context->wisdom.path, expected[i]);
        lab_close();
    }
    setenv(names[3], "", 1);
    lab_open(WM_PLACE_CPU, NULL);
    assert_int_equal(wm_wisdom_open(lab_now.context, NULL), WM_OK);
    assert_null(lab_now.context->wisdom.path);
    lab_close();
    unsetenv(names[3]);
    for (int i = 0; i < 3; i++) setenv(names[i], "relative", 1); /* nothing depends on where a program was started */
    lab_open(WM_PLACE_CPU, NULL);
    assert_int_equal(wm_wisdom_open(lab_now.context, NULL), WM_OK);
    assert_null(lab_now.context->wisdom.path);
    lab_close();
    for (int i = 0; i < 4; i++) {
        if (old[i]) {
            setenv(names[i], old[i], 1);
        } else {
            unsetenv(names[i]);
        }
        free(old[i]);
    }
}

static void other_machines_stay_in_the_file(void **unused) {
    (void)unused;
    const char *path = in_folder("shared");
    wmWisdomCount count;
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = path;
    for (int threads = 1; threads <= 3; threads++) { /* three machines, as far as wisdom can tell */
        options.cpu_threads = threads;
        lab_open(WM_PLACE_CPU, &options);
        learn(5);
        learn(5 + threads);
        assert_int_equal(wmWisdomSave(lab_now.context, NULL, &count), WM_OK);
        assert_int_equal(count.used, 2 * threads);
        lab_close();
    }
    options.cpu_threads = 2;
    lab_open(WM_PLACE_CPU, &options);
    assert_true(known(5) && known(7));
    assert_false(known(6));
    assert_int_equal(wmWisdomLoad(lab_now.context, path, &count), WM_OK);
    assert_int_equal(count.used, 2);
    assert_int_equal(count.other, 4);
    size_t needed = 0;
    for (wmTextFormat format = WM_TEXT; format <= WM_JSON; format++) {
        assert_int_equal(wmWisdomPrint(lab_now.context, format, NULL, 0, &needed), WM_OK);
        char *text = (char *)malloc(needed);
        assert_int_equal(wmWisdomPrint(lab_now.context, format, text, needed, NULL), WM_OK);
        assert_non_null(strstr(text, "lab_ours"));
        if (format == WM_JSON) lab_check_json(text);
        free(text);
    }
    lab_close();
}

/* A whole file cut anywhere or with any bit flipped: never fatal, and the lines that are whole are used. */
static void damaged_files(void **unused) {
    (void)unused;
    const char *path = in_folder("damaged");
    static char data[4096];
    size_t bytes = 0;
    open_with(path);
    for (int i = 1; i <= 3; i++) learn(i);
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_OK);
    memcpy(data, read_file(path, &bytes), sizeof data);
    assert_true(bytes < sizeof data);
    for (size_t cut = 0; cut < bytes; cut += 3) {
        wmWisdomCount count;
        write_file(path, data, cut);
        assert_int_equal(wmWisdomLoad(lab_now.context, path, &count), WM_OK);
        assert_true(count.used <= 3 && count.skipped <= 1);
    }
    for (size_t bit = 0; bit < 8 * bytes; bit += 5) {
        wmWisdomCount count;
        data[bit / 8] ^= (char)(1 << (bit % 8));
        write_file(path, data, bytes);
        data[bit / 8] ^= (char)(1 << (bit % 8));
        assert_int_equal(wmWisdomLoad(lab_now.context, path, &count), WM_OK);
        assert_true(count.used >= 1 && count.used <= 3 && count.skipped <= 2);
    }
    /* The next save heals it, and keeps what it does not understand of later formats. */
    static const char mixture[] = "w2 from the future\ngarbage\n\0\1\2\nw1 00000000 entry\n";
    write_file(path, mixture, sizeof mixture - 1);
    wmWisdomCount count;
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, &count), WM_OK);
    assert_int_equal(count.used, 3);
    assert_int_equal(count.skipped, 3);
    char *text = read_file(path, NULL);
    assert_non_null(strstr(text, "w2 from the future\n"));
    assert_null(strstr(text, "garbage"));
    lab_close();
}

/* ---- Files not to be trusted ---- */

static void refuses(const char *path, const char *words) {
    wmWisdomCount count;
    assert_int_equal(wmWisdomLoad(lab_now.context, path, &count), WM_ERR_IO);
    lab_said(words);
    assert_int_equal(wmWisdomSave(lab_now.context, path, &count), WM_ERR_IO);
}

static void strange_files(void **unused) {
    (void)unused;
    open_with("");
    learn(1);
    const char *path = in_folder("strange"), *target = in_folder("target");
    write_file(target, "", 0);
    assert_int_equal(symlink(target, path), 0);
    refuses(path, "symbolic link");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuses(path, "regular file"); /* and does not wait for a writer */
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    refuses(path, "");
    rmdir(path);
    write_file(path, "", 0);
    assert_int_equal(chmod(path, 0666), 0);
    refuses(path, "writable by others");
    assert_int_equal(chmod(path, 0620), 0);
    refuses(path, "writable by others");
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, (off_t)4 << 30), 0); /* sparse: 4 GiB of nothing */
    refuses(path, "4294967296 bytes");
    unlink(path);
    assert_int_equal(wmWisdomLoad(lab_now.context, path, NULL), WM_ERR_IO);
    lab_said("No such file");
    assert_int_equal(wmWisdomLoad(lab_now.context, "", NULL), WM_ERR_IO);
    assert_int_equal(wmWisdomSave(lab_now.context, "/dev/null/wisdom", NULL), WM_ERR_IO);
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_ERR_ARGUMENT);
    size_t bytes = 1;
    (void)read_file(target, &bytes);
    assert_int_equal(bytes, 0); /* nothing was written through the link */
    lab_close();
}

static void other_owners(void **unused) {
    (void)unused;
    if (geteuid() != 0) skip(); /* only root can make another's file */
    open_with("");
    const char *path = in_folder("owned");
    write_file(path, "", 0);
    assert_int_equal(chown(path, 12345, 12345), 0);
    refuses(path, "another user's");
    unlink(path);
    assert_int_equal(mkdir(in_folder("theirs"), 0755), 0);
    assert_int_equal(chown(in_folder("theirs"), 12345, 12345), 0);
    assert_int_equal(wmWisdomSave(lab_now.context, in_folder("theirs/wisdom"), NULL), WM_ERR_IO);
    lab_said("its folder");
    lab_close();
}

static void lock_held_for_ever(void **unused) {
    (void)unused;
    const char *path = in_folder("locked"), *lock = in_folder("locked.lock");
    open_with(path);
    learn(1);
    int fd = open(lock, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    time_t before = time(NULL);
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_ERR_IO);
    lab_said("lock");
    assert_true(time(NULL) - before <= 8);
    close(fd);
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_OK);
    lab_close();
}

/* The disk takes 100 bytes and no more: the old file stays, and nothing half-written beside it. */
static void full_disk(void **unused) {
    (void)unused;
    const char *path = in_folder("full");
    static char before[4096];
    open_with(path);
    learn(1);
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_OK);
    memcpy(before, read_file(path, NULL), sizeof before);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    const struct rlimit small = {100, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    learn(2);
    wmStatus status = wmWisdomSave(lab_now.context, NULL, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, WM_ERR_IO);
    lab_said("writing it");
    assert_string_equal(read_file(path, NULL), before);
    assert_int_equal(access(in_folder("full.new"), F_OK), -1);
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_OK);
    lab_close();
}

/* ---- Many writers, killed ones among them ---- */

static void one_writer(const char *path, int number, int rounds) {
    open_with(path);
    for (int i = 0; i < rounds; i++) {
        learn(100 * number + i + 1);
        if (wmWisdomSave(lab_now.context, NULL, NULL) != WM_OK) _exit(2);
    }
    _exit(0);
}

static void many_processes(void **unused) {
    (void)unused;
    enum { WRITERS = 6, ROUNDS = 10 };
    const char *path = in_folder("many");
    pid_t child[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        fflush(NULL);
        child[i] = fork();
        if (child[i] == 0) one_writer(path, i, ROUNDS);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = 0;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    open_with(path);
    for (int i = 0; i < WRITERS; i++) {
        for (int j = 0; j < ROUNDS; j++) assert_true(known(100 * i + j + 1));
    }
    assert_int_equal(lab_now.context->wisdom.set.count, WRITERS * ROUNDS);
    lab_close();
}

/* A writer is killed at a random moment, again and again: what was there before is there after, whole. */
static void killed_writers(void **unused) {
    (void)unused;
    const char *path = in_folder("killed");
    const char *wanted = getenv("WM_TEST_KILLS");
    long rounds = wanted ? strtol(wanted, NULL, 10) : 60;
    wmWisdomCount count;
    open_with(path);
    for (int i = 1; i <= 40; i++) learn(5000 + i);
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_OK);
    for (long i = 0; i < rounds; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) one_writer(path, (int)(i % 40), 1000);
        const struct timespec delay = {0, (long)(20000000 * lab_unit())};
        nanosleep(&delay, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        wm_wise_set set = {0};
        memset(&count, 0, sizeof count);
        assert_int_equal(wm_file_read(path, &set, NULL, &count, NULL, NULL), WM_OK);
        assert_int_equal(count.skipped, 0);
        assert_true(set.count >= 40);
        wm_set_clear(&set);
    }
    learn(1); /* the locks of the dead are nobody's */
    assert_int_equal(wmWisdomSave(lab_now.context, NULL, NULL), WM_OK);
    lab_close();
}

static int make_folder(void **unused) {
    (void)unused;
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **unused) {
    (void)unused;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum),       cmocka_unit_test(lines_round_trip),
        cmocka_unit_test(damaged_lines),  cmocka_unit_test(forged_lines),
        cmocka_unit_test(merging),        cmocka_unit_test(save_and_load),
        cmocka_unit_test(paths),          cmocka_unit_test(other_machines_stay_in_the_file),
        cmocka_unit_test(damaged_files),  cmocka_unit_test(strange_files),
        cmocka_unit_test(other_owners),   cmocka_unit_test(lock_held_for_ever),
        cmocka_unit_test(full_disk),      cmocka_unit_test(many_processes),
        cmocka_unit_test(killed_writers),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
