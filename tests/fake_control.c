/* SPDX-License-Identifier: Apache-2.0 */
/* What tests ask of the fake device and tell it: see fake_gpu.h. */
#include "fake_queue.h"

const wm_gpu *wm_fake_gpu(wm_fake *fake) {
    return &fake->table;
}

wm_device *wm_fake_device(wm_fake *fake, int ordinal) {
    return &fake->device[ordinal];
}

void wm_fake_fail_at(wm_fake *fake, long n, int error) {
    pthread_mutex_lock(&fake->lock);
    fake->fail_in = n;
    fake->fail_error = error;
    fake->failed = 0;
    pthread_mutex_unlock(&fake->lock);
}

int wm_fake_fail_done(wm_fake *fake) {
    pthread_mutex_lock(&fake->lock);
    int failed = fake->failed;
    pthread_mutex_unlock(&fake->lock);
    return failed;
}

long wm_fake_calls(wm_fake *fake) {
    pthread_mutex_lock(&fake->lock);
    long calls = fake->calls;
    pthread_mutex_unlock(&fake->lock);
    return calls;
}

wm_fake_counts wm_fake_live(wm_fake *fake) {
    wm_fake_counts counts = {0, 0, 0, 0, 0, 0};
    pthread_mutex_lock(&fake->lock);
    for (wm_fake_allocation *a = fake->allocations; a; a = a->next) counts.allocations++;
    for (wm_fake_stream *s = fake->streams; s; s = s->next) counts.streams += s != &fake->default_stream;
    for (wm_fake_event *e = fake->events; e; e = e->next) counts.events++;
    for (wm_fake_graph *g = fake->graphs; g; g = g->next) counts.graphs++;
    counts.modules = fake->modules;
    counts.bytes = wm_fake_bytes_in_use(fake);
    pthread_mutex_unlock(&fake->lock);
    return counts;
}

void wm_fake_poison(wm_fake *fake, int error) {
    pthread_mutex_lock(&fake->lock);
    fake->sticky = error;
    pthread_mutex_unlock(&fake->lock);
}

void wm_fake_set_capturing(wm_fake *fake, wmStream stream, int yes) {
    pthread_mutex_lock(&fake->lock);
    wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    if (s) s->pretended = yes;
    pthread_mutex_unlock(&fake->lock);
}

void wm_fake_set_pageable(wm_fake *fake, int yes) {
    fake->pageable = yes;
}

void wm_fake_refuse_modules(wm_fake *fake) {
    fake->no_modules = 1;
}

void wm_fake_set_eager(wm_fake *fake, int yes) {
    fake->eager = yes;
}

void wm_fake_set_runner(wm_fake *fake, int (*run)(const wm_launch *launch)) {
    fake->run = run;
}

void wm_fake_set_mapper(wm_fake *fake, int (*map)(const wm_tensor *tensor, void *map)) {
    fake->map = map;
}

void wm_fake_cost(wm_fake *fake, const void *kernel, double seconds) {
    int i = 0;
    while (i < fake->costs && fake->cost[i].kernel != kernel) i++;
    if (i == WM_FAKE_KERNELS) return;
    fake->cost[i].kernel = kernel;
    fake->cost[i].seconds = seconds;
    if (i == fake->costs) fake->costs++;
}

const wm_launch *wm_fake_launches(wm_fake *fake, int *count) {
    pthread_mutex_lock(&fake->lock);
    *count = fake->launch_count;
    const wm_launch *launches = fake->launches;
    pthread_mutex_unlock(&fake->lock);
    return launches;
}

int wm_fake_priority(const wm_fake *fake) {
    return fake->priority;
}
