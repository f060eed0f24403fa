/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fibers: stacks that a thread switches between by hand. Each emulated GPU thread is one, the scheduler is another.
 * They tell ASan and TSan where they go, so the emulation runs under both.
 */
#ifndef WM_TESTS_SIMT_FIBER_H
#define WM_TESTS_SIMT_FIBER_H

#include <stddef.h>

#if !defined(__x86_64__) && !defined(WM_FIBER_UCONTEXT)
#define WM_FIBER_UCONTEXT 1
#endif
#ifdef WM_FIBER_UCONTEXT
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define WM_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WM_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WM_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WM_FIBER_TSAN 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_fiber {
    void *top; /* where the stack pointer was when the fiber last stopped */
    const void *stack;
    size_t bytes;
    void (*entry)(void *);
    void *argument;
    struct wm_fiber *resumer; /* who switched here last */
    void *fake_stack, *tsan;
#ifdef WM_FIBER_UCONTEXT
    ucontext_t context;
#endif
} wm_fiber;

/* Makes `fiber` ready to run entry(argument) on the given stack. Nothing is kept of what ran there before. */
void wm_fiber_start(wm_fiber *fiber, void *stack, size_t bytes, void (*entry)(void *), void *argument);

/* Leaves `from`, which is the running fiber, and goes on in `to`. */
void wm_fiber_switch(wm_fiber *from, wm_fiber *to);

/* Leaves `from` for good. */
void wm_fiber_leave(wm_fiber *from, wm_fiber *to);

/* Frees what the sanitizers keep for a fiber; its stack is the caller's. */
void wm_fiber_end(wm_fiber *fiber);

#ifdef __cplusplus
}
#endif

#endif
