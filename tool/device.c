/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpmath device-ltoir: chosen functions of the device API under C names, as LTO-IR or PTX, for whoever links device
 * code: Numba, CuPy, nvJitLink, nvcc -dlto. NVRTC compiles them from the headers inside this program.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/nvrtc.h"
#include "lib/json.h"

#include <warpmath/types.h>

#include "commands.h"
#include "fail.h"
#include "options.h"
#include "output.h"

typedef struct options {
    wm_common common;
    const char *output, *arch, *abi;
    bool ptx;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"-o",     WM_FLAG_TEXT,   offsetof(options, output), "FILE", "where to; default: only list what would be there"},
    {"--ptx",  WM_FLAG_SWITCH, offsetof(options, ptx),    "",     "PTX, for linkers that do not optimise"},
    {"--arch", WM_FLAG_TEXT,   offsetof(options, arch),   "ARCH", "80, 90, 90a …; default 90"},
    {"--abi",  WM_FLAG_TEXT,   offsetof(options, abi),    "HOW",  "c or numba: as cuda.declare_device calls; default c"},
    {NULL,     WM_FLAG_SWITCH, 0,                         NULL,   NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "device-ltoir FUNCTION… -o FILE [flags]",
    "Functions:\n"
    "  uniform_f32 uniform_f64 normal_f32 normal_f64     number i of a key's sequence\n"
    "  fft:N:DIRECTION:TYPE      block transform, fft:1024:forward:f32; N 2 to 16384, forward or inverse, f32 or f64\n"
    "  sum:THREADS:TYPE          of all threads of the block, sum:256:f32; f32 f64 i32\n"
    "  tile:WAY:TYPE:MxNxK:THREADS    tile product, tile:mma:f16:64x64x64:128; ways fma, mma; f16 bf16 e4m3 e5m2 f32 "
    "f64 i8\n"
    "Prints the C prototype of each. docs/device.md says what they do and who must call them.\n",
    1,
    32,
    flags,
};

enum { SOURCE = 64 * 1024, TEXT = 1024 };

/* One function: its name, its result ("" none), its parameters and their names in a call, and what it does. */
typedef struct function {
    char name[64], result[16], parameters[256], body[TEXT];
} function;

/* ---- The kinds of functions ---- */

static const char *const key_parameters = "unsigned long long seed, unsigned int substream, unsigned long long i";

static int draw(function *f, const char *word) {
    static const struct {
        const char *word, *result, *call;
    } rows[] = {
        {"uniform_f32", "float",  "wmUniformF32"},
        {"uniform_f64", "double", "wmUniformF64"},
        {"normal_f32",  "float",  "wmNormalF32" },
        {"normal_f64",  "double", "wmNormalF64" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].word, word) != 0) continue;
        (void)snprintf(f->name, sizeof f->name, "wm_device_%s", word);
        (void)snprintf(f->result, sizeof f->result, "%s", rows[i].result);
        (void)snprintf(f->parameters, sizeof f->parameters, "%s", key_parameters);
        (void)snprintf(f->body, sizeof f->body, "wmRandomKey key = {seed, substream}; return %s(key, i);",
                       rows[i].call);
        return WM_EXIT_OK;
    }
    return wm_tool_usage("there is no function '%s'; warpmath device-ltoir -h lists them", word);
}

static int transform(function *f, const char *word) {
    int n = 0, end = 0, bytes;
    char direction[8], type[4];
    if (sscanf(word, "fft:%d:%7[a-z]:%3[f0-9]%n", &n, direction, type, &end) != 3 || word[end]) // NOLINT(cert-err34-c)
        return wm_tool_usage("'%s' is not fft:N:DIRECTION:TYPE", word);
    bool inverse = strcmp(direction, "inverse") == 0;
    bytes = strcmp(type, "f32") == 0 ? 4 : strcmp(type, "f64") == 0 ? 8 : 0;
    if (!bytes) return wm_tool_usage("'%s': the type is f32 or f64", word);
    if (n < 2 || n * bytes > 16384 * 4 || (n & (n - 1)) || (!inverse && strcmp(direction, "forward") != 0))
        return wm_tool_usage("'%s': N is a power of two up to 16384, in f64 8192, the direction forward or inverse",
                             word);
    (void)snprintf(f->name, sizeof f->name, "wm_device_fft_%d_%s_%s", n, direction, type);
    (void)snprintf(f->parameters, sizeof f->parameters, "void *x, void *smem");
    (void)snprintf(f->body, sizeof f->body,
                   "auto &r = *reinterpret_cast<%s (*)[wmFftElements(%d, %d)]>(x); wmFftBlock<%d, %s>(r, smem);",
                   bytes == 4 ? "wmC64" : "wmC128", n, bytes, n, inverse ? "WM_INVERSE" : "WM_FORWARD");
    return WM_EXIT_OK;
}

static int sum(function *f, const char *word) {
    static const char *const types[][2] = {
        {"f32", "float" },
        {"f64", "double"},
        {"i32", "int"   }
    };
    int threads = 0, end = 0, row = 0;
    char type[4];
    if (sscanf(word, "sum:%d:%3[fi0-9]%n", &threads, type, &end) != 2 || word[end]) // NOLINT(cert-err34-c)
        return wm_tool_usage("'%s' is not sum:THREADS:TYPE", word);
    while (row < 3 && strcmp(types[row][0], type) != 0) row++;
    if (row == 3 || threads < 32 || threads > 1024 || threads % 32)
        return wm_tool_usage("'%s': THREADS is a multiple of 32 up to 1024, the type f32, f64 or i32", word);
    (void)snprintf(f->name, sizeof f->name, "wm_device_sum_%d_%s", threads, type);
    (void)snprintf(f->result, sizeof f->result, "%s", types[row][1]);
    (void)snprintf(f->parameters, sizeof f->parameters, "%s x, void *smem", types[row][1]);
    (void)snprintf(f->body, sizeof f->body, "return wmReduceBlock<%d>(x, smem);", threads);
    return WM_EXIT_OK;
}

static int tile(function *f, const char *word) {
    static const char *const types[][3] = {
        {"f16",  "wm_f16",  "float" },
        {"bf16", "wm_bf16", "float" },
        {"e4m3", "wm_e4m3", "float" },
        {"e5m2", "wm_e5m2", "float" },
        {"f32",  "float",   "float" },
        {"f64",  "double",  "double"},
        {"i8",   "wm_i8",   "int"   }
    };
    int m = 0, n = 0, k = 0, threads = 0, end = 0, row = 0;
    char way[4], type[5];
    // NOLINTNEXTLINE(cert-err34-c): fields of one to four digits, looked at below
    if (sscanf(word, "tile:%3[a-z]:%4[a-z0-9]:%dx%dx%d:%d%n", way, type, &m, &n, &k, &threads, &end) != 6 || word[end])
        return wm_tool_usage("'%s' is not tile:WAY:TYPE:MxNxK:THREADS", word);
    while (row < 7 && strcmp(types[row][0], type) != 0) row++;
    bool mma = strcmp(way, "mma") == 0;
    if (row == 7 || (!mma && strcmp(way, "fma") != 0) || m < 8 || n < 8 || k < 16 || m > 256 || n > 256 || k > 1024 ||
        threads < 32 || threads > 1024)
        return wm_tool_usage(
            "'%s': fma or mma; f16 bf16 e4m3 e5m2 f32 f64 i8; M and N up to 256, K up to 1024, THREADS 32 …", word);
    (void)snprintf(f->name, sizeof f->name, "wm_device_tile_%s_%s_%dx%dx%d_%d", way, type, m, n, k, threads);
    (void)snprintf(f->parameters, sizeof f->parameters, "void *sums, const void *a, const void *b");
    (void)snprintf(f->body, sizeof f->body,
                   "auto &sum = *reinterpret_cast<%s (*)[wmTileElements(%d, %d, %d)]>(sums); wmTileProduct<%d, %d, %d, "
                   "%d, %s>(sum, static_cast<const %s *>(a), static_cast<const %s *>(b));",
                   types[row][2], m, n, threads, m, n, k, threads, mma ? "WM_TILE_MMA" : "WM_TILE_FMA", types[row][1],
                   types[row][1]);
    return WM_EXIT_OK;
}

static int function_of(function *f, const char *word) {
    memset(f, 0, sizeof *f);
    if (strncmp(word, "fft:", 4) == 0) return transform(f, word);
    if (strncmp(word, "sum:", 4) == 0) return sum(f, word);
    if (strncmp(word, "tile:", 5) == 0) return tile(f, word);
    return draw(f, word);
}

/* ---- Source, and what becomes of it ---- */

/* Numba calls functions that return a status and put their result where the first argument points. */
static void prototype_of(char *out, size_t room, const function *f, bool numba) {
    const char *result = *f->result ? f->result : "void";
    if (!numba)
        (void)snprintf(out, room, "extern \"C\" __device__ %s %s(%s)", result, f->name, f->parameters);
    else
        (void)snprintf(out, room, "extern \"C\" __device__ int %s(%s *result, %s)", f->name,
                       *f->result ? f->result : "void", f->parameters);
}

/* One definition; the body is in a function of its own so that both ways to call share it. */
static void define(char *out, size_t room, const function *f, bool numba) {
    char prototype[TEXT];
    const char *text = f->body, *back = strstr(f->body, "return ");
    prototype_of(prototype, sizeof prototype, f, numba);
    if (!numba)
        (void)snprintf(out, room, "%s { %s }\n", prototype, text);
    else if (back)
        (void)snprintf(out, room, "%s { %.*s*result = %s return 0; }\n", prototype, (int)(back - text), text, back + 7);
    else
        (void)snprintf(out, room, "%s { (void)result; %s return 0; }\n", prototype, text);
}

static int write_file(const options *o, const char *source) {
    char arch[32];
    const char *const compile[] = {"-std=c++17", arch, "-rdc=true", "-dlto"};
    void *code = NULL;
    size_t bytes = 0;
    wm_output out;
    (void)snprintf(arch, sizeof arch, "-arch=%s%.8s", o->ptx ? "compute_" : "sm_", o->arch ? o->arch : "90");
    int status = wm_output_open(&out, o->output);
    if (status) return status;
    if (wm_nvrtc_compile_to(o->ptx ? WM_NVRTC_PTX : WM_NVRTC_LTOIR, "the functions", source, compile, o->ptx ? 3 : 4,
                            &code, &bytes) != WM_OK)
        status = wm_tool_fail("%s", wmLastError());
    if (!status) status = wm_output_write(&out, code, o->ptx ? strlen(code) : bytes);
    if (!status) status = wm_output_commit(&out);
    if (status) wm_output_discard(&out);
    free(code);
    return status;
}

/* The whole translation unit, and the list of prototypes, for people or as JSON. */
static int write_source(const options *o, bool numba, char *source, wm_text *list) {
    char line[4 * TEXT];
    wm_json json = {.text = list};
    function f;
    wm_append(source, SOURCE,
              "#include <warpmath/device/fft_wide.cuh>\n#include <warpmath/device/random.h>\n"
              "#include <warpmath/device/reduce.cuh>\n#include <warpmath/device/tile.cuh>\n");
    if (o->common.json) wm_json_open(&json, NULL, '[');
    for (int i = 0; i < o->common.count; i++) {
        int status = function_of(&f, o->common.words[i]);
        if (status) return status;
        define(line, sizeof line, &f, numba);
        wm_append(source, SOURCE, "%s", line);
        prototype_of(line, sizeof line, &f, numba);
        if (o->common.json)
            wm_json_string(&json, NULL, line);
        else
            wm_text_add(list, "%s;\n", line);
    }
    if (o->common.json) wm_json_close(&json, ']');
    return WM_EXIT_OK;
}

int wm_command_device_ltoir(int argc, char **argv) {
    options o = {0};
    wm_text list = {0};
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (status) return status;
    bool numba = o.abi && strcmp(o.abi, "numba") == 0;
    if (o.abi && !numba && strcmp(o.abi, "c") != 0) return wm_tool_usage("--abi is c or numba, not '%s'", o.abi);
    char *source = calloc(1, SOURCE);
    if (!source) return wm_tool_fail("out of memory");
    status = write_source(&o, numba, source, &list);
    if (!status && list.failed) status = wm_tool_fail("out of memory");
    if (!status && o.output) status = write_file(&o, source);
    if (!status) printf("%s%s", list.data, o.common.json ? "\n" : "");
    wm_text_free(&list);
    free(source);
    return status;
}
