/* SPDX-License-Identifier: Apache-2.0 */
/* The fake device's streams, events and graphs: see the header. */
#include "fake_queue.h"

#include <stdlib.h>
#include <string.h>

/* ---- Operations ---- */

static const void *source_of(const wm_op *op) {
    return op->kind == WM_OP_LAUNCH ? op->launch.params : op->from;
}

/* Host data that the caller may change or free as soon as the call returns. */
static int must_stage(const wm_op *op) {
    if (op->kind == WM_OP_LAUNCH) return op->launch.params != NULL;
    return op->kind == WM_OP_COPY && !wm_area_device(op->from);
}

int wm_ops_add(wm_ops *ops, const wm_op *op) {
    wm_op *copy = malloc(sizeof *copy);
    size_t bytes = op->kind == WM_OP_LAUNCH ? op->launch.params_bytes : op->bytes;
    if (!copy) return WM_FAKE_OUT_OF_MEMORY;
    *copy = *op;
    copy->next = NULL;
    copy->staged = NULL;
    if (must_stage(op)) {
        copy->staged = aligned_alloc(64, (bytes + 64) / 64 * 64);
        if (!copy->staged) return free(copy), WM_FAKE_OUT_OF_MEMORY;
        memcpy(copy->staged, op->staged ? op->staged : source_of(op), bytes);
        copy->launch.params = copy->staged;
    }
    if (ops->last)
        ops->last->next = copy;
    else
        ops->first = copy;
    ops->last = copy;
    return 0;
}

int wm_ops_append(wm_ops *ops, const wm_ops *more) {
    for (const wm_op *op = more->first; op; op = op->next) {
        int error = wm_ops_add(ops, op);
        if (error) return error;
    }
    return 0;
}

static wm_op *take_first(wm_ops *ops) {
    wm_op *op = ops->first;
    ops->first = op->next;
    if (!ops->first) ops->last = NULL;
    return op;
}

static void end_op(wm_op *op) {
    free(op->staged);
    free(op);
}

void wm_ops_clear(wm_ops *ops) {
    while (ops->first) end_op(take_first(ops));
}

/* ---- Their turn ---- */

static double cost_of(const wm_fake *fake, const wm_op *op) {
    for (int i = 0; op->kind == WM_OP_LAUNCH && i < fake->costs; i++)
        if (fake->cost[i].kernel == op->launch.kernel) return fake->cost[i].seconds;
    return op->kind == WM_OP_EVENT ? 0 : 1e-6;
}

static int record_launch(wm_fake *fake, const wm_launch *launch) {
    int count = fake->launch_count;
    wm_launch *all = fake->launches;
    if ((count & (count - 1)) == 0) all = realloc(all, (count ? 2 * (size_t)count : 1) * sizeof *all); /* full */
    void *params = malloc(launch->params_bytes + 1);
    if (all) fake->launches = all;
    if (!all || !params) return free(params), WM_FAKE_OUT_OF_MEMORY;
    if (launch->params_bytes) memcpy(params, launch->params, launch->params_bytes);
    all[fake->launch_count] = *launch;
    all[fake->launch_count++].params = params;
    return 0;
}

static int perform(wm_fake *fake, wm_fake_stream *stream, const wm_op *op) {
    const void *from = op->staged ? op->staged : op->from;
    int error = 0;
    stream->time += cost_of(fake, op);
    switch (op->kind) {
    case WM_OP_COPY:
        if (!wm_area_check("copy to", op->to, op->bytes) || !wm_area_check("copy from", from, op->bytes))
            return WM_FAKE_ILLEGAL_ADDRESS;
        memmove(op->to, from, op->bytes);
        wm_area_mark(op->to, from, op->bytes);
        break;
    case WM_OP_SET:
        if (!wm_area_check("set", op->to, op->bytes)) return WM_FAKE_ILLEGAL_ADDRESS;
        memset(op->to, op->byte, op->bytes);
        wm_area_mark(op->to, NULL, op->bytes);
        break;
    case WM_OP_LAUNCH:
        error = record_launch(fake, &op->launch);
        if (!error && fake->run) error = fake->run(&op->launch);
        break;
    case WM_OP_EVENT:
        op->event->time = stream->time;
        op->event->done = 1;
        break;
    }
    return error;
}

int wm_fake_drain(wm_fake *fake, wm_fake_stream *stream) {
    while (stream->queue.first && !fake->sticky) {
        wm_op *op = take_first(&stream->queue);
        fake->sticky = perform(fake, stream, op); /* whatever fails on the device poisons it */
        end_op(op);
    }
    return fake->sticky;
}

int wm_fake_drain_all(wm_fake *fake) {
    for (wm_fake_stream *s = fake->streams; s; s = s->next) wm_fake_drain(fake, s);
    return fake->sticky;
}

int wm_fake_enqueue(wm_fake *fake, wm_fake_stream *stream, const wm_op *op) {
    int error;
    if (stream->pretended) return 0;
    if (stream->capture && op->kind == WM_OP_EVENT) return 0; /* in a graph it is an edge, no operation */
    if (stream->capture) return wm_ops_add(&stream->capture->ops, op);
    error = wm_ops_add(&stream->queue, op);
    return !error && fake->eager ? wm_fake_drain(fake, stream) : error;
}

/* ---- Streams ---- */

wm_fake_stream *wm_fake_stream_of(wm_fake *fake, wmStream stream) {
    uintptr_t value = (uintptr_t)stream;
    if (value <= 2) return &fake->default_stream; /* NULL, cudaStreamLegacy, cudaStreamPerThread */
    for (wm_fake_stream *s = fake->streams; s; s = s->next)
        if ((void *)s == (void *)stream) return s;
    return NULL;
}

int wm_fake_thread_captures(const wm_fake *fake, wm_fake_stream **first) {
    for (wm_fake_stream *s = fake->streams; s; s = s->next) {
        if (!s->capture || !pthread_equal(s->capturer, pthread_self())) continue;
        if (first) *first = s;
        return 1;
    }
    return 0;
}

void wm_fake_spoil_captures(wm_fake *fake) {
    for (wm_fake_stream *s = fake->streams; s; s = s->next)
        if (s->capture && pthread_equal(s->capturer, pthread_self())) s->invalidated = 1;
}

/* ---- Graphs ---- */

wm_fake_graph *wm_fake_graph_new(wm_fake *fake) {
    wm_fake_graph *graph = calloc(1, sizeof *graph);
    if (!graph) return NULL;
    graph->next = fake->graphs;
    fake->graphs = graph;
    return graph;
}

int wm_fake_graph_keep(wm_fake_graph *graph, void *object, void (*release)(void *), int *users) {
    wm_kept *kept = calloc(1, sizeof *kept);
    if (kept && !users) users = calloc(1, sizeof *users);
    if (!kept || !users) {
        free(kept);
        return WM_FAKE_OUT_OF_MEMORY;
    }
    ++*users;
    kept->object = object;
    kept->release = release;
    kept->users = users;
    kept->next = graph->kept;
    graph->kept = kept;
    return 0;
}

int wm_fake_graph_copy(wm_fake *fake, const wm_fake_graph *from, wm_fake_graph **out) {
    wm_fake_graph *graph = wm_fake_graph_new(fake);
    int error = graph ? wm_ops_append(&graph->ops, &from->ops) : WM_FAKE_OUT_OF_MEMORY;
    for (const wm_kept *k = from->kept; k && !error; k = k->next)
        error = wm_fake_graph_keep(graph, k->object, k->release, k->users);
    *out = graph;
    return error;
}

static void let_go(wm_fake *fake, wm_kept *kept) {
    if (--*kept->users == 0) {
        fake->releasing = 1;
        kept->release(kept->object);
        fake->releasing = 0;
        free(kept->users);
    }
    free(kept);
}

void wm_fake_graph_end(wm_fake *fake, wm_fake_graph *graph) {
    wm_fake_graph **link = &fake->graphs;
    while (*link && *link != graph) link = &(*link)->next;
    if (*link) *link = graph->next;
    if (graph->kept) wm_fake_drain_all(fake); /* what it keeps may still be in use */
    wm_ops_clear(&graph->ops);
    for (wm_kept *kept = graph->kept, *next; kept; kept = next) {
        next = kept->next;
        let_go(fake, kept);
    }
    free(graph);
}
