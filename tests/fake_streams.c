/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fake device's table that is about streams, events, captures and graphs. */
#include "fake_queue.h"

#include <stdlib.h>

/* ---- Streams and events ---- */

static uint64_t new_id(void) {
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* cudaStreamPerThread is one handle for a stream of each thread. */
static uint64_t per_thread_id(void) {
    static __thread uint64_t mine;
    if (!mine) mine = new_id();
    return mine;
}

static int stream_create(void *self, wmStream *out) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    wm_fake_stream *s = error ? NULL : calloc(1, sizeof *s);
    *out = NULL;
    if (!error && !s) error = WM_FAKE_OUT_OF_MEMORY;
    if (s) {
        s->id = new_id();
        s->next = fake->streams;
        fake->streams = s;
        *out = (wmStream)(void *)s;
    }
    return wm_fake_leave(fake, error);
}

static int stream_create_ranked(void *self, int priority, wmStream *out) {
    wm_fake *fake = self;
    fake->priority = priority;
    return stream_create(self, out);
}

static void end_stream(wm_fake *fake, wm_fake_stream *s) {
    wm_fake_stream **link = &fake->streams;
    while (*link && *link != s) link = &(*link)->next;
    if (*link) *link = s->next;
    wm_fake_drain(fake, s);
    wm_ops_clear(&s->queue);
    if (s->capture) wm_fake_graph_end(fake, s->capture);
    for (wm_fake_event *e = fake->events; e; e = e->next)
        if (e->stream == s) e->stream = NULL;
    free(s);
}

static int stream_destroy(void *self, wmStream stream) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    if (s && s != &fake->default_stream)
        end_stream(fake, s);
    else if (!error)
        error = WM_FAKE_INVALID_HANDLE;
    return wm_fake_leave(fake, error);
}

static int stream_wait(void *self, wmStream stream) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    if (!error && !s) error = WM_FAKE_INVALID_HANDLE;
    if (!error && (s->capture || s->pretended)) error = WM_FAKE_CAPTURE_UNSUPPORTED;
    if (!error) error = wm_fake_drain(fake, s);
    return wm_fake_leave(fake, error);
}

static int stream_capturing(void *self, wmStream stream, int *yes) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    if (!error && !s) error = WM_FAKE_INVALID_HANDLE;
    *yes = !error && (s->capture || s->pretended);
    return wm_fake_leave(fake, error);
}

static int stream_id(void *self, wmStream stream, uint64_t *id) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    const wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    if (!error && !s) error = WM_FAKE_INVALID_HANDLE;
    if (!error) *id = (uintptr_t)stream == 2 ? per_thread_id() : s->id;
    return wm_fake_leave(fake, error);
}

static int event_create(void *self, wm_event *out) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_event *e = error ? NULL : calloc(1, sizeof *e);
    *out = NULL;
    if (!error && !e) error = WM_FAKE_OUT_OF_MEMORY;
    if (e) {
        e->next = fake->events;
        fake->events = e;
        *out = e;
    }
    return wm_fake_leave(fake, error);
}

static wm_fake_event **find_event(wm_fake *fake, wm_event event) {
    wm_fake_event **link = &fake->events;
    while (*link && *link != event) link = &(*link)->next;
    return *link ? link : NULL;
}

static int event_destroy(void *self, wm_event event) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_event **link = find_event(fake, event);
    if (link) {
        wm_fake_event *e = *link;
        wm_fake_drain_all(fake); /* its record may be enqueued */
        *link = e->next;
        free(e);
    } else if (!error) {
        error = WM_FAKE_INVALID_HANDLE;
    }
    return wm_fake_leave(fake, error);
}

static int event_record(void *self, wm_event event, wmStream stream) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_event **link = find_event(fake, event);
    wm_op op = {.kind = WM_OP_EVENT};
    if (!error && !link) error = WM_FAKE_INVALID_HANDLE;
    if (!error) {
        op.event = *link;
        op.event->recorded = 1;
        op.event->done = 0;
        op.event->stream = wm_fake_stream_of(fake, stream);
    }
    return wm_fake_enqueue_on(fake, error, stream, &op);
}

static int event_wait(void *self, wm_event event) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    wm_fake_event **link = find_event(fake, event);
    if (!error && !link) error = WM_FAKE_INVALID_HANDLE;
    if (!error && (*link)->stream && !(*link)->done) error = wm_fake_drain(fake, (*link)->stream);
    return wm_fake_leave(fake, error);
}

static int event_seconds(void *self, wm_event from, wm_event to, double *seconds) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_event **a = find_event(fake, from), **b = find_event(fake, to);
    if (!error && (!a || !b || !(*a)->recorded || !(*b)->recorded)) error = WM_FAKE_INVALID_HANDLE;
    if (!error && (!(*a)->done || !(*b)->done)) error = WM_FAKE_NOT_READY;
    if (!error) *seconds = (*b)->time - (*a)->time;
    return wm_fake_leave(fake, error);
}

/* ---- Captures and graphs ---- */

static int capture_begin(void *self, wmStream stream) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    if (!error && !s) error = WM_FAKE_INVALID_HANDLE;
    if (!error && (s == &fake->default_stream || s->capture || s->pretended)) error = WM_FAKE_CAPTURE_UNSUPPORTED;
    if (!error) {
        s->capture = wm_fake_graph_new(fake);
        s->capturer = pthread_self();
        s->invalidated = 0;
        if (!s->capture) error = WM_FAKE_OUT_OF_MEMORY;
    }
    return wm_fake_leave(fake, error);
}

static int capture_end(void *self, wmStream stream, wmGraph *out) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    *out = NULL;
    if (!s || !s->capture) return wm_fake_leave(fake, error ? error : WM_FAKE_INVALID_HANDLE);
    if (!error && s->invalidated) error = WM_FAKE_CAPTURE_INVALIDATED;
    if (error)
        wm_fake_graph_end(fake, s->capture);
    else
        *out = (wmGraph)(void *)s->capture;
    s->capture = NULL;
    s->invalidated = 0;
    return wm_fake_leave(fake, error);
}

static wm_fake_graph *find_graph(const wm_fake *fake, const void *graph) {
    wm_fake_graph *g = fake->graphs;
    while (g && (void *)g != graph) g = g->next;
    return g;
}

static int graph_instantiate(void *self, wmGraph graph, void **exec) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    wm_fake_graph *from = find_graph(fake, graph), *made = NULL;
    *exec = NULL;
    if (!error && !from) error = WM_FAKE_INVALID_HANDLE;
    if (!error) error = wm_fake_graph_copy(fake, from, &made);
    if (error && made)
        wm_fake_graph_end(fake, made);
    else
        *exec = made;
    return wm_fake_leave(fake, error);
}

static int graph_launch(void *self, void *exec, wmStream stream) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    const wm_fake_graph *graph = find_graph(fake, exec);
    wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    if (!error && (!graph || !s)) error = WM_FAKE_INVALID_HANDLE;
    for (const wm_op *op = error ? NULL : graph->ops.first; op && !error; op = op->next)
        error = wm_fake_enqueue(fake, s, op);
    return wm_fake_leave(fake, error);
}

static int graph_destroy(void *self, wmGraph graph, void *exec) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_graph *g = find_graph(fake, graph), *e = find_graph(fake, exec);
    if (!error && ((graph && !g) || (exec && !e))) error = WM_FAKE_INVALID_HANDLE;
    if (e) wm_fake_graph_end(fake, e);
    if (g) wm_fake_graph_end(fake, g);
    return wm_fake_leave(fake, error);
}

static int graph_retain(void *self, wmGraph graph, void *object, void (*release)(void *object)) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    wm_fake_graph *g = find_graph(fake, graph);
    if (!error && !g) error = WM_FAKE_INVALID_HANDLE;
    if (!error) error = wm_fake_graph_keep(g, object, release, NULL);
    return wm_fake_leave(fake, error);
}

/* ---- Beginning and end ---- */

void wm_fake_add_streams(wm_fake *fake) {
    wm_gpu *t = &fake->table;
    t->stream_create = stream_create;
    t->stream_create_ranked = stream_create_ranked;
    t->stream_destroy = stream_destroy;
    t->stream_wait = stream_wait;
    t->stream_capturing = stream_capturing;
    t->stream_id = stream_id;
    t->event_create = event_create;
    t->event_destroy = event_destroy;
    t->event_record = event_record;
    t->event_wait = event_wait;
    t->event_seconds = event_seconds;
    t->capture_begin = capture_begin;
    t->capture_end = capture_end;
    t->graph_instantiate = graph_instantiate;
    t->graph_launch = graph_launch;
    t->graph_destroy = graph_destroy;
    t->graph_retain = graph_retain;
    fake->default_stream.id = new_id();
    fake->streams = &fake->default_stream;
}

void wm_fake_end_streams(wm_fake *fake) {
    for (wm_fake_stream *s = fake->streams; s && fake->sticky; s = s->next) wm_ops_clear(&s->queue); /* never runs */
    fake->sticky = 0;
    while (fake->streams && fake->streams != &fake->default_stream) end_stream(fake, fake->streams);
    wm_fake_drain(fake, &fake->default_stream);
    wm_ops_clear(&fake->default_stream.queue);
    while (fake->graphs) wm_fake_graph_end(fake, fake->graphs);
    for (wm_fake_event *e = fake->events, *next; e; e = next) {
        next = e->next;
        free(e);
    }
}
