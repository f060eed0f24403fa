/* SPDX-License-Identifier: Apache-2.0 */
/* The progress bar and the thread that draws it. */
#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24 };

static struct {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    int64_t total, done;
    char label[80];
    struct timespec began, step_began;
    bool ending;
    /* The main thread's own. */
    pthread_t thread;
    bool running;
} bar = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double seconds_since(const struct timespec *then) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

void wm_progress_left(int64_t done, int64_t total, double elapsed, char *out, size_t room) {
    double left = done > 0 ? elapsed / (double)done * (double)(total - done) : -1;
    *out = 0;
    if (left >= 0 && left < 90) (void)snprintf(out, room, ", about %.0f s left", left);
    if (left >= 90 && left < 5400) (void)snprintf(out, room, ", about %.0f min left", left / 60);
    if (left >= 5400) (void)snprintf(out, room, ", about %.1f h left", left / 3600);
}

/* One line: [########----------------] 3/9  fft c2c f32 … (4 s, about 2 min left). Written at once, so that it is never
 * half there. */
static void draw(double age) {
    char line[256];
    char left[48];
    char filled[BAR + 1];
    int full = bar.total > 0 ? (int)(BAR * bar.done / bar.total) : 0;
    for (int i = 0; i < BAR; i++) filled[i] = i < full ? '#' : '-';
    filled[BAR] = 0;
    /* By what is done, so without the step under way: else the guess would fall with every second of a long step. */
    wm_progress_left(bar.done, bar.total, seconds_since(&bar.began) - age, left, sizeof left);
    int length = snprintf(line, sizeof line, "\r\033[K[%s] %lld/%lld  %s (%.0f s%s)", filled, (long long)bar.done,
                          (long long)bar.total, bar.label, age, left);
    (void)!write(STDERR_FILENO, line, (size_t)length);
}

static void *draw_until_end(void *unused) {
    (void)unused;
    bool drawn = false;
    (void)pthread_mutex_lock(&bar.lock);
    while (!bar.ending) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 200000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&bar.wake, &bar.lock, &until);
        double age = seconds_since(&bar.step_began);
        if (!bar.ending && (drawn || age > 1.0)) {
            draw(age);
            drawn = true;
        }
    }
    (void)pthread_mutex_unlock(&bar.lock);
    if (drawn) (void)!write(STDERR_FILENO, "\r\033[K", 4);
    return NULL;
}

void wm_progress_begin(int64_t total) {
    pthread_condattr_t attributes;
    sigset_t all;
    sigset_t before;
    if (!isatty(STDERR_FILENO) || bar.running) return;
    bar.total = total;
    bar.done = 0;
    bar.label[0] = 0;
    bar.ending = false;
    (void)clock_gettime(CLOCK_MONOTONIC, &bar.began);
    bar.step_began = bar.began;
    if (pthread_condattr_init(&attributes) != 0) return;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&bar.wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    /* Signals are the main thread's business. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    bar.running = pthread_create(&bar.thread, NULL, draw_until_end, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void wm_progress_step(int64_t done, const char *label) {
    if (!bar.running) return;
    (void)pthread_mutex_lock(&bar.lock);
    bar.done = done;
    (void)snprintf(bar.label, sizeof bar.label, "%s", label);
    (void)clock_gettime(CLOCK_MONOTONIC, &bar.step_began);
    (void)pthread_mutex_unlock(&bar.lock);
}

void wm_progress_end(void) {
    if (!bar.running) return;
    (void)pthread_mutex_lock(&bar.lock);
    bar.ending = true;
    (void)pthread_cond_signal(&bar.wake);
    (void)pthread_mutex_unlock(&bar.lock);
    (void)pthread_join(bar.thread, NULL);
    (void)pthread_cond_destroy(&bar.wake);
    bar.running = false;
}
