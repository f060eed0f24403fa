/* SPDX-License-Identifier: Apache-2.0 */
/* The fake device's streams, events and graphs: lists of operations that wait for their turn. */
#ifndef WM_TESTS_FAKE_QUEUE_H
#define WM_TESTS_FAKE_QUEUE_H

#include "fake_gpu.h"

#include <pthread.h>

typedef enum wm_op_kind { WM_OP_COPY, WM_OP_SET, WM_OP_LAUNCH, WM_OP_EVENT } wm_op_kind;

typedef struct wm_fake_event {
    int recorded, done;
    double time;
    struct wm_fake_stream *stream;
    struct wm_fake_event *next;
} wm_fake_event;

typedef struct wm_op {
    wm_op_kind kind;
    void *to;
    const void *from;
    void *staged; /* a copy of what `from`, or a launch's params, held when it was enqueued */
    size_t bytes;
    int byte;
    wm_launch launch;
    wm_fake_event *event;
    struct wm_op *next;
} wm_op;

typedef struct wm_ops {
    wm_op *first, *last;
} wm_ops;

/* An object that graphs keep alive. */
typedef struct wm_kept {
    void *object;
    void (*release)(void *object);
    int *users; /* graphs and executable graphs that hold it */
    struct wm_kept *next;
} wm_kept;

/* A graph, or an executable one. */
typedef struct wm_fake_graph {
    wm_ops ops;
    wm_kept *kept;
    struct wm_fake_graph *next;
} wm_fake_graph;

typedef struct wm_fake_stream {
    wm_ops queue;
    wm_fake_graph *capture;
    pthread_t capturer;
    int invalidated, pretended; /* a capture that was spoilt, that only wm_fake_set_capturing made */
    uint64_t id;
    double time;
    struct wm_fake_stream *next;
} wm_fake_stream;

typedef struct wm_cost {
    const void *kernel;
    double seconds;
} wm_cost;

typedef struct wm_fake_allocation {
    void *pointer;
    size_t bytes;
    int device;
    struct wm_fake_allocation *next;
} wm_fake_allocation;

enum { WM_FAKE_DEVICES = 8, WM_FAKE_KERNELS = 512 };

struct wm_fake {
    wm_gpu table;
    pthread_mutex_t lock; /* held during each call */
    wm_device device[WM_FAKE_DEVICES];
    int devices;
    long calls, fail_in;
    int fail_error, failed;
    int sticky;
    int pageable, eager;
    int releasing; /* inside a graph's release function, where CUDA forbids its calls */
    int (*run)(const wm_launch *launch);
    int (*map)(const wm_tensor *tensor, void *map);
    wm_fake_allocation *allocations;
    wm_fake_stream *streams; /* the default one last */
    wm_fake_stream default_stream;
    int priority; /* of the stream last made with one */
    wm_fake_event *events;
    wm_fake_graph *graphs;
    wm_cost cost[WM_FAKE_KERNELS];
    int costs;
    wm_launch *launches;
    int launch_count;
    int modules, no_modules;
    struct {
        const void *kernel;
        size_t shared;
    } prepared[WM_FAKE_KERNELS];
    int prepared_count;
};

/* Starts a call that can fail and takes the lock; returns the error that was scripted or poisons the device. */
int wm_fake_enter(wm_fake *fake);
int wm_fake_enter_uncaptured(wm_fake *fake); /* a call that CUDA forbids while this thread captures */
int wm_fake_forbid_capture(wm_fake *fake);   /* it fails then, and the capture is spoilt */
int wm_fake_leave(wm_fake *fake, int error); /* notes the error as pending, lets the lock go, gives the error back */
int wm_fake_enqueue_on(wm_fake *fake, int error, wmStream stream, const wm_op *op); /* then leaves */

size_t wm_fake_bytes_in_use(const wm_fake *fake);

/* fake_streams.c: its part of the table. */
void wm_fake_add_streams(wm_fake *fake);
void wm_fake_end_streams(wm_fake *fake);

/* Operations, and what they belong to. All with the lock held; errors are cudaError_t. */
int wm_ops_add(wm_ops *ops, const wm_op *op); /* copies op and what it must not lose */
int wm_ops_append(wm_ops *ops, const wm_ops *more);
void wm_ops_clear(wm_ops *ops);
int wm_fake_enqueue(wm_fake *fake, wm_fake_stream *stream, const wm_op *op);
int wm_fake_drain(wm_fake *fake, wm_fake_stream *stream);
int wm_fake_drain_all(wm_fake *fake);
wm_fake_stream *wm_fake_stream_of(wm_fake *fake, wmStream stream); /* NULL if it is none */
int wm_fake_thread_captures(const wm_fake *fake, wm_fake_stream **first);
void wm_fake_spoil_captures(wm_fake *fake);
wm_fake_graph *wm_fake_graph_new(wm_fake *fake);
int wm_fake_graph_copy(wm_fake *fake, const wm_fake_graph *from, wm_fake_graph **out);
int wm_fake_graph_keep(wm_fake_graph *graph, void *object, void (*release)(void *), int *users);
void wm_fake_graph_end(wm_fake *fake, wm_fake_graph *graph);

#endif
