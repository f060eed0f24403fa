/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .npy reader and writer: what is written reads back the same; a file that is not whole, not .npy or not of a type
 * that is read gives one clear sentence; no byte of a header, changed, makes the reader crash or believe a wrong size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "npy.h"

static char folder[] = "/tmp/test_npy.XXXXXX";

/* A path in the test's folder, good until the fourth call after this one. */
static const char *at(const char *name) {
    static char paths[4][256];
    static int next;
    next = (next + 1) % 4;
    (void)snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static void put(const char *path, const void *bytes, size_t count) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
    assert_int_equal(close(fd), 0);
}

static size_t get(const char *path, unsigned char *bytes, size_t capacity) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t got = read(fd, bytes, capacity);
    assert_true(got >= 0);
    assert_int_equal(close(fd), 0);
    return (size_t)got;
}

/* A file made of a header text as given (no padding) and `data` bytes of 7. */
static void put_header(const char *path, int version, const char *text, size_t data) {
    unsigned char bytes[4096] = "\x93NUMPY";
    size_t length = strlen(text);
    size_t start = version == 1 ? 10 : 12;
    assert_true(start + length + data <= sizeof bytes);
    bytes[6] = (unsigned char)version;
    bytes[8] = (unsigned char)length;
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + start, text, length); // NOLINT(bugprone-not-null-terminated-result): bytes, no string
    memset(bytes + start + length, 7, data);
    put(path, bytes, start + length + data);
}

static int entries_in_folder(void) {
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir)) count++; // NOLINT(concurrency-mt-unsafe): one thread
    assert_int_equal(closedir(dir), 0);
    return count;
}

/* The last failure's sentence holds the part, and is one line. */
static void assert_said(const char *part) {
    if (!strstr(wm_tool_error(), part)) fail_msg("'%s' does not say '%s'", wm_tool_error(), part);
    assert_null(strchr(wm_tool_error(), '\n'));
}

static void assert_refused(const char *path, const char *part) {
    wm_npy array;
    assert_int_equal(wm_npy_read(path, &array), WM_EXIT_FAILED);
    assert_null(array.data);
    assert_said(part);
}

static unsigned char random_byte(void) {
    static uint64_t state = 20261130;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned char)(state >> 24);
}

static const char *const dtypes[] = {"f2", "f4", "f8", "c8", "c16", "b1", "i1",
                                     "i2", "i4", "i8", "u1", "u2",  "u4", "u8"};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void assert_same(const wm_npy *a, const wm_npy *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->item, b->item);
    assert_int_equal(a->fortran, b->fortran);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->shape, b->shape, sizeof a->shape);
    assert_memory_equal(a->data, b->data, (size_t)a->count * (size_t)a->item);
}

static void round_trip(const char *dtype, int rank, const int64_t shape[], bool fortran) {
    wm_npy wrote;
    wm_npy read;
    assert_int_equal(wm_npy_describe(&wrote, "test", dtype, rank, shape), 0);
    assert_int_equal(wm_npy_allocate(&wrote, "test"), 0);
    wrote.fortran = fortran;
    unsigned char *bytes = wrote.data;
    for (int64_t i = 0; i < wrote.count * wrote.item; i++) bytes[i] = random_byte();
    assert_int_equal(wm_npy_write(at("a.npy"), &wrote), 0);
    if (wm_npy_read(at("a.npy"), &read)) fail_msg("%s", wm_tool_error());
    assert_same(&wrote, &read);
    assert_int_equal((uintptr_t)read.data % 64, 0);
    wm_npy_free(&wrote);
    wm_npy_free(&read);
}

static void test_round_trips(void **state) {
    (void)state;
    static const int64_t shapes[][5] = {
  /* the rank, then the dimensions */
        {0, 0, 0, 0, 0},
        {1, 1, 0, 0, 0},
        {1, 5, 0, 0, 0},
        {1, 0, 0, 0, 0},
        {2, 3, 4, 0, 0},
        {2, 0, 7, 0, 0},
        {2, 7, 0, 0, 0},
        {3, 2, 3, 5, 0},
        {4, 1, 1, 1, 9},
    };
    for (int t = 0; t < DTYPES; t++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            round_trip(dtypes[t], (int)shapes[s][0], shapes[s] + 1, false);
            round_trip(dtypes[t], (int)shapes[s][0], shapes[s] + 1, true);
        }
    }
}

static void test_rank_64(void **state) {
    (void)state;
    int64_t shape[WM_NPY_RANK + 1];
    wm_npy array;
    for (int i = 0; i <= WM_NPY_RANK; i++) shape[i] = i == 40 ? 6 : 1;
    round_trip("f4", WM_NPY_RANK, shape, false);
    assert_int_equal(wm_npy_describe(&array, "test", "f4", WM_NPY_RANK + 1, shape), 1);
    assert_said("65 dimensions");
}

static void test_types(void **state) {
    (void)state;
    static const wmType expected[] = {WM_F16, WM_F32, WM_F64, WM_C64, WM_C128, WM_U8,  WM_I8,
                                      WM_I16, WM_I32, WM_I64, WM_U8,  WM_U16,  WM_U32, WM_U64};
    wm_npy array;
    for (int t = 0; t < DTYPES; t++) {
        assert_int_equal(wm_npy_describe(&array, "test", dtypes[t], 0, NULL), 0);
        assert_int_equal(wm_npy_type(&array), expected[t]);
        if (array.kind != 'b') assert_string_equal(wm_npy_dtype(expected[t]), dtypes[t]);
    }
    assert_string_equal(wm_npy_dtype(WM_BF16), "u2");
    assert_null(wm_npy_dtype(WM_F8E4M3));
    assert_int_equal(wm_npy_describe(&array, "x.npy", "f3", 0, NULL), 1);
    assert_said("x.npy: element type 'f3' is none of");
    assert_int_equal(wm_npy_describe(&array, "x.npy", "f4", 1, (int64_t[]){-1}), 1);
    assert_said("dimension 0 is negative: -1");
}

/* Headers as other writers make them: key order, quotes, spacing, Python 2's L, and format versions 2 and 3. */
static void test_accepted_headers(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}        \n",
        "{\"shape\":(2,3,),\"fortran_order\":True,\"descr\":\"<f4\"}\n",
        "  { 'descr' :\n '<f4' , 'shape' : ( 2L , 3L ) ,\n 'fortran_order' : False }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int version = 1; version <= 3; version++) {
            wm_npy array;
            put_header(at("h.npy"), version, texts[i], 24);
            if (wm_npy_read(at("h.npy"), &array)) fail_msg("%s: %s", texts[i], wm_tool_error());
            assert_int_equal(array.rank, 2);
            assert_int_equal(array.shape[0], 2);
            assert_int_equal(array.shape[1], 3);
            assert_int_equal(array.fortran, i == 2);
            assert_int_equal(wm_npy_type(&array), WM_F32);
            wm_npy_free(&array);
        }
    }
}

/* In the cases below, $ stands for the header's usual rest and @ for its usual beginning. */
static const char *const refused[][2] = {
    {"{'descr': '>f4'$",                           "'>f4' is big-endian"         },
    {"{'descr': '>i2'$",                           "'>i2' is big-endian"         },
    {"{'descr': '|O'$",                            "'|O' holds Python objects"   },
    {"{'descr': '<U5'$",                           "'<U5' holds strings"         },
    {"{'descr': '|S5'$",                           "'|S5' holds byte strings"    },
    {"{'descr': '<M8[ns]'$",                       "'<M8[ns]' holds dates"       },
    {"{'descr': '<m8[s]'$",                        "'<m8[s]' holds time spans"   },
    {"{'descr': '|V2'$",                           "save array.view('u2')"       },
    {"{'descr': '<f16'$",                          "'<f16' is none of"           },
    {"{'descr': '<c32'$",                          "'<c32' is none of"           },
    {"{'descr': '=f4'$",                           "'=f4' is none of"            },
    {"{'descr': '|f4'$",                           "'|f4' is none of"            },
    {"{'descr': 'f4'$",                            "'f4' is none of"             },
    {"{'descr': ''$",                              "'' is none of"               },
    {"{'descr': '<'$",                             "'<' is none of"              },
    {"{'descr': [('x', '<f4'), ('y', '<i4')]$",    "structured element type [("  },
    {"{'descr': ('<f4', (3,))$",                   "structured element type ("   },
    {"{'descr': [",                                "structured element type ["   },
    {"{'descr': 4$",                               "a quoted element type"       },
    {"{'descr': '<f4', 'fortran_order': false}\n", "True or False expected"      },
    {"{'descr': '<f4', 'fortran_order': 0}\n",     "True or False expected"      },
    {"{'descr': '<f4', 'fortran_order': False}\n", "'shape' is missing"          },
    {"{'descr': '<f4', 'shape': (2,)}\n",          "'fortran_order' is missing"  },
    {"{'fortran_order': False, 'shape': (2,)}\n",  "'descr' is missing"          },
    {"{}\n",                                       "'descr' is missing"          },
    {"{'descr': '<f4', 'descr': '<f4'$",           "'descr' twice"               },
    {"{'descr': '<f4', 'more': 1$",                "unknown key 'more'"          },
    {"@2}\n",                                      "'(' expected"                },
    {"@[2]}\n",                                    "'(' expected"                },
    {"@(2)}\n",                                    "',' after the only dimension"},
    {"@(-2,)}\n",                                  "a dimension between 0"       },
    {"@(+2,)}\n",                                  "a dimension between 0"       },
    {"@(2.0,)}\n",                                 "',' or ')' expected"         },
    {"@(0x2,)}\n",                                 "',' or ')' expected"         },
    {"@(02,)}\n",                                  "a dimension between 0"       },
    {"@(1+1,)}\n",                                 "',' or ')' expected"         },
    {"@(2 2)}\n",                                  "',' or ')' expected"         },
    {"@(,)}\n",                                    "a dimension between 0"       },
    {"@(2,,)}\n",                                  "a dimension between 0"       },
    {"@(9223372036854775808,)}\n",                 "a dimension between 0"       },
    {"@(99999999999999999999999999,)}\n",          "a dimension between 0"       },
    {"@(9223372036854775807,)}\n",                 "passes 2^63 - 1"             },
    {"@(3037000500, 3037000500)}\n",               "passes 2^63 - 1"             },
    {"@(0, 3037000500, 3037000500)}\n",            "passes 2^63 - 1"             },
    {"@(4611686018427387904, 4)}\n",               "passes 2^63 - 1"             },
    {"@(2305843009213693951,)}\n",                 "truncated"                   },
    {"@(1000000000000,)}\n",                       "4000000000000 bytes of data" },
    {"@(2,)}",                                     "a newline at the end"        },
    {"@(2,)} x\n",                                 "a newline at the end"        },
    {"@(2,)}\n__import__('os')\n",                 "a newline at the end"        },
    {"@(2,)\n",                                    "',' or '}' expected"         },
    {"@(2,\n",                                     "a dimension between 0"       },
    {"@\n",                                        "'(' expected"                },
    {"\n",                                         "'{' expected"                },
    {"",                                           "'{' expected"                },
    {"{",                                          "a quoted key"                },
    {"{'descr",                                    "a quoted key"                },
    {"dict(descr='<f4')\n",                        "'{' expected"                },
    {"{'de\\x73cr': '<f4'$",                       "a quoted key"                },
    {"{'descr\": '<f4'$",                          "unknown key"                 },
};

static void test_refused_headers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[512];
        const char *source = refused[i][0];
        bool head = *source == '@';
        int length = (int)strcspn(source, "$");
        bool rest = source[length] == '$';
        (void)snprintf(text, sizeof text, "%s%.*s%s", head ? "{'descr': '<f4', 'fortran_order': False, 'shape': " : "",
                       length - head, source + head, rest ? ", 'fortran_order': False, 'shape': (2,)}\n" : "");
        for (int version = 1; version <= 3; version++) {
            put_header(at("h.npy"), version, text, 8);
            assert_refused(at("h.npy"), refused[i][1]);
        }
    }
}

static void test_shape_of_65_dimensions(void **state) {
    (void)state;
    char ones[2 * 65 + 1];
    char text[512];
    for (int i = 0; i < 65; i++) memcpy(ones + 2 * i, "1,", 3);
    (void)snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s)}\n", ones);
    put_header(at("h.npy"), 1, text, 4);
    assert_refused(at("h.npy"), "at most 64 dimensions");
}

static void test_control_characters_stay_out_of_messages(void **state) {
    (void)state;
    put_header(at("h.npy"), 1, "{'descr': '\033]0;x\007\n', 'fortran_order': False, 'shape': (2,)}\n", 8);
    assert_refused(at("h.npy"), "is none of");
    for (const char *c = wm_tool_error(); *c; c++) assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
}

/* Writes the 3 × 5 f4 array that the mutilations below start from; returns the file's size. */
static size_t sample(unsigned char *bytes, size_t capacity) {
    static const int64_t shape[] = {3, 5};
    wm_npy array;
    assert_int_equal(wm_npy_describe(&array, "test", "f4", 2, shape), 0);
    assert_int_equal(wm_npy_allocate(&array, "test"), 0);
    float *values = array.data;
    for (int i = 0; i < 15; i++) values[i] = (float)i;
    assert_int_equal(wm_npy_write(at("s.npy"), &array), 0);
    wm_npy_free(&array);
    size_t size = get(at("s.npy"), bytes, capacity);
    assert_int_equal(size, 128 + 60);
    return size;
}

static void test_every_truncation(void **state) {
    (void)state;
    unsigned char bytes[512];
    size_t size = sample(bytes, sizeof bytes);
    for (size_t cut = 0; cut < size; cut++) {
        put(at("t.npy"), bytes, cut);
        assert_refused(at("t.npy"), "truncated");
    }
    put(at("t.npy"), bytes, 128 + 17);
    assert_refused(at("t.npy"), "60 bytes of data expected, 17 found");
    put(at("t.npy"), bytes, size + 1);
    assert_refused(at("t.npy"), "60 bytes of data expected, 61 found");
}

/* 1 if the file reads as an array, which must then agree with the file; 0 if it is refused with a sentence. */
static int read_changed(const unsigned char *data) {
    wm_npy array;
    if (wm_npy_read(at("f.npy"), &array) != 0) {
        assert_null(array.data);
        assert_said("f.npy: ");
        return 0;
    }
    assert_int_equal(array.count * array.item, 60);
    assert_memory_equal(array.data, data, 60);
    wm_npy_free(&array);
    return 1;
}

/* Every header byte, set to each other value. */
static void test_every_changed_byte(void **state) {
    (void)state;
    unsigned char bytes[512];
    size_t size = sample(bytes, sizeof bytes);
    put(at("f.npy"), bytes, size);
    int fd = open(at("f.npy"), O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    int accepted = 0;
    for (off_t i = 0; i < 128; i++) {
        for (int value = 0; value < 256; value++) {
            unsigned char byte = (unsigned char)value;
            if (byte == bytes[i]) continue;
            assert_int_equal(pwrite(fd, &byte, 1, i), 1);
            accepted += read_changed(bytes + 128);
        }
        assert_int_equal(pwrite(fd, &bytes[i], 1, i), 1);
    }
    assert_int_equal(close(fd), 0);
    /* What may pass: i4 or u4 for f4, other blanks for blanks, the header longer or shorter by nothing. */
    print_message("%d of %d changed headers describe a valid array\n", accepted, 128 * 255);
    assert_true(accepted < 300);
}

static void test_not_files(void **state) {
    (void)state;
    assert_refused(at("absent.npy"), "cannot open it: No such file");
    assert_refused(folder, "cannot read it: Is a directory");
    put(at("text"), "hello, world, how are you?\n", 27);
    assert_refused(at("text"), "is no .npy file");
    put_header(at("v.npy"), 4, "{}\n", 8);
    assert_refused(at("v.npy"), "format version 4.0");
    put_header(at("v.npy"), 0, "{}\n", 8);
    assert_refused(at("v.npy"), "format version 0.0");
    put(at("v.npy"), "\x93NUMPY\x01\x01\x02\x00{}", 12);
    assert_refused(at("v.npy"), "format version 1.1");
    put(at("v.npy"), "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14);
    assert_refused(at("v.npy"), "a header of 4294967295 bytes");
}

/* A pipe has no size to check first: its end is found while reading. */
static void read_from_pipe(size_t bytes_less, size_t bytes_more, const char *expected) {
    unsigned char bytes[512] = {0};
    int ends[2];
    char path[64];
    wm_npy array;
    size_t size = sample(bytes, sizeof bytes);
    assert_int_equal(pipe(ends), 0);
    assert_true(write(ends[1], bytes, size - bytes_less + bytes_more) > 0);
    assert_int_equal(close(ends[1]), 0);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    if (expected) {
        assert_refused(path, expected);
    } else {
        assert_int_equal(wm_npy_read(path, &array), 0);
        assert_memory_equal(array.data, bytes + 128, 60);
        wm_npy_free(&array);
    }
    assert_int_equal(close(ends[0]), 0);
}

static void test_pipes(void **state) {
    (void)state;
    read_from_pipe(0, 0, NULL);
    read_from_pipe(13, 0, "60 bytes of data expected, 47 found");
    read_from_pipe(0, 1, "more than the expected 60 bytes");
}

/* Replacing keeps the mode, and a link stays a link. */
static void test_replacing(void **state) {
    (void)state;
    wm_npy array;
    wm_npy back;
    struct stat facts;
    put(at("r.npy"), "old", 3);
    assert_int_equal(chmod(at("r.npy"), 0640), 0);
    assert_int_equal(symlink("r.npy", at("link.npy")), 0);
    assert_int_equal(wm_npy_describe(&array, "test", "u8", 1, (int64_t[]){2}), 0);
    assert_int_equal(wm_npy_allocate(&array, "test"), 0);
    memset(array.data, 5, 16);
    assert_int_equal(wm_npy_write(at("link.npy"), &array), 0);
    assert_int_equal(lstat(at("link.npy"), &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(lstat(at("r.npy"), &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0640);
    assert_int_equal(wm_npy_read(at("r.npy"), &back), 0);
    assert_same(&array, &back);
    wm_npy_free(&array);
    wm_npy_free(&back);
}

static void test_unwritable(void **state) {
    (void)state;
    wm_npy array;
    struct stat facts;
    assert_int_equal(wm_npy_describe(&array, "test", "f4", 0, NULL), 0);
    assert_int_equal(wm_npy_allocate(&array, "test"), 0);
    int before = entries_in_folder();
    memset(array.data, 0, 4);
    assert_int_equal(wm_npy_write(at("no/such/a.npy"), &array), 1);
    assert_said("cannot write there: No such file");
    assert_int_equal(wm_npy_write(folder, &array), 1);
    assert_said("is a folder");
    assert_int_equal(wm_npy_write("", &array), 1);
    assert_said("name is empty");
    assert_int_equal(wm_npy_write("/dev/full", &array), 1);
    assert_said("No space left");
    assert_int_equal(wm_npy_write("/dev/null", &array), 0);
    assert_int_equal(stat("/dev/null", &facts), 0);
    assert_true(S_ISCHR(facts.st_mode));
    assert_int_equal(entries_in_folder(), before);
    wm_npy_free(&array);
}

static void test_discarding_leaves_nothing(void **state) {
    (void)state;
    wm_output out;
    int before = entries_in_folder();
    assert_int_equal(wm_output_open(&out, at("d.npy")), 0);
    assert_int_equal(wm_output_write(&out, "half", 4), 0);
    assert_int_equal(entries_in_folder(), before + 1);
    wm_output_discard(&out);
    assert_int_equal(entries_in_folder(), before);
}

static void test_an_interrupt_leaves_nothing(void **state) {
    (void)state;
    int before = entries_in_folder();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        wm_output out;
        if (wm_output_open(&out, at("i.npy"))) _exit(9);
        (void)raise(SIGTERM);
        _exit(8);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(entries_in_folder(), before);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[512];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command); // NOLINT(concurrency-mt-unsafe): one thread
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_rank_64),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_accepted_headers),
        cmocka_unit_test(test_refused_headers),
        cmocka_unit_test(test_shape_of_65_dimensions),
        cmocka_unit_test(test_control_characters_stay_out_of_messages),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_changed_byte),
        cmocka_unit_test(test_not_files),
        cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_replacing),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_discarding_leaves_nothing),
        cmocka_unit_test(test_an_interrupt_leaves_nothing),
    };
    return cmocka_run_group_tests_name("npy", tests, make_folder, remove_folder);
}
