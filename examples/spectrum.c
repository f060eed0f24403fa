/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spectrum of a sound: spectrum [file.wav], a WAV file of 16-bit samples. Frames of 4096 samples that overlap by
 * half are read as they lie in the signal, as the stride of a batch loop may be less than a frame; Hann's window is
 * applied to the spectra, where it is a sum of three neighbours. The powers of all frames are averaged (Welch, 1967).
 * Without a file it makes one of two tones and noise, and checks that it finds them.
 */
#include <warpmath/warpmath.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME = 4096, HOP = FRAME / 2, BINS = FRAME / 2 + 1, PEAKS = 5, HEADER = 44, RATE = 44100, SECONDS = 2 };
static const double pi = 3.14159265358979323846, tones[2] = {440, 3520};

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef struct sound {
    float *samples; /* of the first channel, in [-1, 1) */
    int64_t count;
    double rate;
} sound;

static uint32_t number(const unsigned char *at, int bytes) { /* little-endian */
    uint32_t all = 0;
    for (int i = bytes - 1; i >= 0; i--) all = all << 8 | at[i];
    return all;
}

static void put(unsigned char *at, int bytes, uint32_t value) {
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> (8 * i));
}

/* Chunks of a RIFF file: the format, then the samples. 0: it is not such a file. */
static int parse(const unsigned char *file, size_t bytes, sound *out) {
    uint32_t channels = 0;
    if (bytes < 12 || memcmp(file, "RIFF", 4) != 0 || memcmp(file + 8, "WAVE", 4) != 0) return 0;
    for (size_t at = 12; at + 8 <= bytes;) {
        size_t length = number(file + at + 4, 4);
        const unsigned char *body = file + at + 8;
        if (length > bytes - at - 8) length = bytes - at - 8; /* a recording that was cut off */
        if (memcmp(file + at, "fmt ", 4) == 0 && length >= 16) {
            if (number(body, 2) != 1 || number(body + 14, 2) != 16) return 0;
            channels = number(body + 2, 2);
            out->rate = number(body + 4, 4);
        } else if (memcmp(file + at, "data", 4) == 0 && channels) {
            out->count = (int64_t)(length / 2 / channels);
            out->samples = (float *)malloc(((size_t)out->count + 1) * sizeof(float));
            for (int64_t i = 0; out->samples && i < out->count; i++)
                out->samples[i] = (float)(int16_t)number(body + 2 * channels * (size_t)i, 2) / 32768.0f;
            return out->samples != NULL;
        }
        at += 8 + length + length % 2;
    }
    return 0;
}

static unsigned char *load(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    unsigned char *all = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long end = ftell(file);
        rewind(file);
        all = end > 0 ? (unsigned char *)malloc((size_t)end) : NULL;
        *bytes = all ? fread(all, 1, (size_t)end, file) : 0;
    }
    if (file) fclose(file);
    return all;
}

/* Two seconds, two channels: tones of amplitude 0.2 and 0.1 on the first, and noise. */
static unsigned char *make(size_t *bytes) {
    const uint32_t samples = RATE * SECONDS, data = samples * 4;
    unsigned char *file = (unsigned char *)calloc(HEADER + data, 1);
    uint32_t random = 1;
    *bytes = HEADER + data;
    if (!file) return NULL;
    static const unsigned char header[HEADER] = {'R', 'I', 'F', 'F', 0, 0, 0,  0, 'W', 'A', 'V', 'E', 'f', 'm',
                                                 't', ' ', 16,  0,   0, 0, 1,  0, 2,   0,   0,   0,   0,   0,
                                                 0,   0,   0,   0,   4, 0, 16, 0, 'd', 'a', 't', 'a'};
    memcpy(file, header, HEADER);
    put(file + 4, 4, HEADER - 8 + data);
    put(file + 24, 4, RATE);
    put(file + 28, 4, RATE * 4);
    put(file + 40, 4, data);
    for (uint32_t i = 0; i < samples; i++) {
        random = random * 1664525u + 1013904223u;
        double noise = (double)(random >> 8) / (1 << 24) - 0.5, t = 2 * pi * i / RATE;
        double x = 0.2 * sin(tones[0] * t) + 0.1 * sin(tones[1] * t) + 0.02 * noise;
        put(file + HEADER + 4 * i, 2, (uint32_t)(int32_t)lrint(32767 * x));
    }
    return file;
}

/* Mean power of each bin, with a full-scale sine at 1. */
static void average(const float *spectra, int64_t frames, double *power) {
    for (int64_t f = 0; f < frames; f++)
        for (int k = 1; k + 1 < BINS; k++) {
            const float *x = spectra + 2 * (f * BINS + k);
            double re = 0.5 * (double)x[0] - 0.25 * ((double)x[-2] + (double)x[2]);
            double im = 0.5 * (double)x[1] - 0.25 * ((double)x[-1] + (double)x[3]);
            power[k] += (re * re + im * im) * 16 / ((double)FRAME * FRAME * (double)frames);
        }
}

static void transform(const sound *s, double *power) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    void *in = NULL, *out = NULL;
    const int64_t n = FRAME, frames = (s->count - FRAME) / HOP + 1;
    const size_t bytes = (size_t)frames * BINS * 2 * sizeof(float), used = (size_t)s->count * sizeof(float);
    float *spectra = (float *)malloc(bytes);
    if (!spectra) exit(1);
    TRY(wmContextCreate(&context, NULL));
    wmFftDesc desc = wmFftDescPacked(WM_FFT_R2C, WM_F32, 1, &n, frames);
    if (frames > 1) desc.loop[0].in_stride = HOP;
    TRY(wmFftPlanCreate(&plan, context, &desc, NULL));
    printf("%s by %s\n", wmPlanProblem(plan), wmPlanSolver(plan));
    TRY(wmAlloc(&in, context, used));
    TRY(wmAlloc(&out, context, bytes));
    TRY(wmCopy(context, in, s->samples, used, NULL));
    wmFftArgs args = wmFftArgsDefault(in, out);
    TRY(wmFftExecute(plan, &args, NULL));
    TRY(wmCopy(context, spectra, out, bytes, NULL));
    TRY(wmSynchronize(context, NULL));
    average(spectra, frames, power);
    free(spectra);
    wmFree(context, in);
    wmFree(context, out);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
}

/* The strongest bin that is a peak and not near one that was taken; -1: none. */
static int strongest(const double *power, const int *taken, int count) {
    int best = -1;
    for (int k = 1; k + 1 < BINS; k++) {
        int near = 0;
        for (int i = 0; i < count; i++) near |= abs(k - taken[i]) < 4;
        if (!near && power[k] > power[k - 1] && power[k] >= power[k + 1] && (best < 0 || power[k] > power[best]))
            best = k;
    }
    return best;
}

int main(int argc, char **argv) {
    static double power[BINS];
    sound s = {NULL, 0, 0};
    size_t bytes = 0;
    int peak[PEAKS], count = 0, right = 0;
    unsigned char *file = argc > 1 ? load(argv[1], &bytes) : make(&bytes);
    if (!file || !parse(file, bytes, &s) || s.count < FRAME) {
        fprintf(stderr, "%s: not a WAV file of at least %d 16-bit samples\n", argc > 1 ? argv[1] : "memory", FRAME);
        return 1;
    }
    transform(&s, power);
    while (count < PEAKS && (peak[count] = strongest(power, peak, count)) >= 0) count++;
    for (int i = 0; i < count; i++) printf("%8.1f Hz %7.1f dB\n", peak[i] * s.rate / FRAME, 10 * log10(power[peak[i]]));
    for (int i = 0; i < 2 && i < count; i++) { /* a tone between two bins shows up to 1.5 dB less */
        double level = 10 * log10(power[peak[i]]), want = 20 * log10(i ? 0.1 : 0.2);
        right +=
            fabs(peak[i] * s.rate / FRAME - tones[i]) <= s.rate / FRAME && level < want + 0.2 && level > want - 1.7;
    }
    free(s.samples);
    free(file);
    return argc > 1 || right == 2 ? 0 : 1;
}
