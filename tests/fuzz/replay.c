/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzzing of parsers.c without libFuzzer, for every compiler and for CI: each input of the corpus as it is, then
 * random changes and crossings of them for some seconds. Under a sanitizer it is worth most.
 *
 *     fuzz_replay CORPUS.txt [SECONDS [SEED]]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 8192, LONGEST = 4096 };

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static input corpus[MOST];
static int count;
static uint64_t state;

static uint64_t draw(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

/* \n, \\ and \xNN; every other byte is itself. */
static size_t unescape(const char *line, size_t length, uint8_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (line[i] != '\\' || i + 1 == length) {
            out[n++] = (uint8_t)line[i];
        } else if (line[i + 1] == 'x' && i + 3 < length) {
            out[n++] = (uint8_t)(hex(line[i + 2]) << 4 | hex(line[i + 3]));
            i += 3;
        } else {
            out[n++] = line[++i] == 'n' ? '\n' : (uint8_t)line[i];
        }
    }
    return n;
}

static int read_corpus(const char *path) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    while (count < MOST && (length = getline(&line, &room, file)) > 0) {
        if (line[length - 1] == '\n') length--;
        uint8_t *data = (uint8_t *)malloc((size_t)length + 1);
        if (!data) break;
        corpus[count++] = (input){data, unescape(line, (size_t)length, data)};
    }
    free(line);
    (void)fclose(file);
    return count > 0;
}

static void change(uint8_t *data, size_t *size) {
    static const char *const words[] = {"=",    "x",       "2^",  "-1",     "9223372036854775807",
                                        " ",    "\n",      "w1 ", "entry ", "batch=",
                                        "0",    ":",       ",",   "f32",    "matmul ",
                                        "fft ", "random ", "(",   ")",      "'",
                                        "{",    "}"};
    size_t at = *size ? draw(*size) : 0;
    const char *word = words[draw(sizeof words / sizeof *words)];
    const input *other = &corpus[draw((uint64_t)count)];
    switch (draw(6)) {
    case 0:
        if (*size) data[at] ^= (uint8_t)(1 << draw(8));
        return;
    case 1:
        if (*size) data[at] = (uint8_t)draw(256);
        return;
    case 2: /* a piece out */
        if (*size > 1) {
            size_t gone = 1 + draw(*size - at < 8 ? *size - at : 8);
            memmove(data + at, data + at + gone, *size - at - gone);
            *size -= gone;
        }
        return;
    case 3: /* a word in */
        if (*size + strlen(word) < LONGEST) {
            memmove(data + at + strlen(word), data + at, *size - at);
            for (size_t i = 0; word[i]; i++) data[at + i] = (uint8_t)word[i];
            *size += strlen(word);
        }
        return;
    case 4: /* another's end */
        if (other->size > at && other->size < LONGEST) {
            memcpy(data + at, other->data + at, other->size - at);
            *size = other->size;
        }
        return;
    default: /* a piece twice */
        if (*size && 2 * *size < LONGEST) {
            memmove(data + *size, data + at, *size - at);
            *size += *size - at;
        }
    }
}

int main(int argc, char **argv) {
    static uint8_t data[2 * LONGEST];
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 3;
    if (argc < 2 || !read_corpus(argv[1])) {
        (void)fprintf(stderr, "usage: fuzz_replay CORPUS.txt [SECONDS [SEED]]\n");
        return 2;
    }
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL);
    printf("%d inputs; seed %llu\n", count, (unsigned long long)state);
    (void)fflush(stdout);
    for (int i = 0; i < count; i++) (void)LLVMFuzzerTestOneInput(corpus[i].data, corpus[i].size);
    long long runs = 0;
    for (time_t end = time(NULL) + (time_t)seconds; time(NULL) < end;) {
        for (int i = 0; i < 1000; i++, runs++) {
            const input *from = &corpus[draw((uint64_t)count)];
            size_t size = from->size < LONGEST ? from->size : LONGEST;
            memcpy(data, from->data, size);
            for (uint64_t changes = 1 + draw(6); changes > 0; changes--) change(data, &size);
            (void)LLVMFuzzerTestOneInput(data, size);
        }
    }
    printf("%lld changed inputs, none broke anything\n", runs);
    for (int i = 0; i < count; i++) free(corpus[i].data);
    return 0;
}
