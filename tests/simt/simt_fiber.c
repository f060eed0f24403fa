/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers: a dozen instructions on x86-64, ucontext elsewhere, and the notes that ASan and TSan want. */
#include "simt_fiber.h"

#include <stdint.h>
#include <string.h>

#ifdef WM_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WM_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

static void before_switch(wm_fiber *from, wm_fiber *to, int for_good) {
    to->resumer = from;
#ifdef WM_FIBER_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->fake_stack, to->stack, to->bytes);
#else
    (void)for_good;
#endif
#ifdef WM_FIBER_TSAN
    if (!from->tsan) from->tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

/* Runs first on the new stack; `self` is the fiber that goes on. */
static void after_switch(wm_fiber *self) {
#ifdef WM_FIBER_ASAN
    /* The first fiber's stack is the system's: learn its bounds when leaving it. */
    const void **stack = &self->resumer->stack;
    size_t *bytes = &self->resumer->bytes;
    __sanitizer_finish_switch_fiber(self->fake_stack, stack, bytes);
#else
    (void)self;
#endif
}

static void forget_old_frames(void *stack, size_t bytes) {
#ifdef WM_FIBER_ASAN
    __asan_unpoison_memory_region(stack, bytes);
#else
    (void)stack, (void)bytes;
#endif
}

static void run(wm_fiber *self) {
    after_switch(self);
    self->entry(self->argument);
    __builtin_trap(); /* an entry function ends in wm_fiber_leave */
}

#ifndef WM_FIBER_UCONTEXT

/* Saves the callee-saved registers on the old stack, takes them from the new one, returns there. */
__asm__(".text\n"
        ".p2align 4\n"
        ".type wm_fiber_jump, @function\n"
        "wm_fiber_jump:\n" /* (void **old_top in rdi, void *new_top in rsi) */
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size wm_fiber_jump, .-wm_fiber_jump\n"
        /* The first return of a fiber lands here, with itself in r12. */
        ".type wm_fiber_first, @function\n"
        "wm_fiber_first:\n"
        "    movq %r12, %rdi\n"
        "    xorl %ebp, %ebp\n"
        "    call *%r13\n"
        "    ud2\n"
        ".size wm_fiber_first, .-wm_fiber_first\n");
void wm_fiber_jump(void **old_top, void *new_top);
void wm_fiber_first(void);

static void make_context(wm_fiber *fiber) {
    uintptr_t end = ((uintptr_t)fiber->stack + fiber->bytes) & ~(uintptr_t)15;
    void **top = (void **)end - 7; /* six registers and the return address: then the stack is aligned for a call */
    memset(top, 0, 7 * sizeof *top);
    top[2] = (void *)(uintptr_t)run; /* r13 */
    top[3] = fiber;                  /* r12 */
    top[6] = (void *)(uintptr_t)wm_fiber_first;
    fiber->top = top;
}

static void jump(wm_fiber *from, wm_fiber *to) {
    wm_fiber_jump(&from->top, to->top);
}

#else

static void run_split(unsigned high, unsigned low) {
    run((wm_fiber *)(((uintptr_t)high << 32) | low));
}

static void make_context(wm_fiber *fiber) {
    uintptr_t self = (uintptr_t)fiber;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = (void *)(uintptr_t)fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->bytes;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, (void (*)(void))run_split, 2, (unsigned)(self >> 32), (unsigned)self);
}

static void jump(wm_fiber *from, wm_fiber *to) {
    swapcontext(&from->context, &to->context);
}

#endif

void wm_fiber_start(wm_fiber *fiber, void *stack, size_t bytes, void (*entry)(void *), void *argument) {
    forget_old_frames(stack, bytes);
    fiber->stack = stack;
    fiber->bytes = bytes;
    fiber->entry = entry;
    fiber->argument = argument;
    fiber->fake_stack = NULL;
#ifdef WM_FIBER_TSAN
    if (!fiber->tsan) fiber->tsan = __tsan_create_fiber(0);
#endif
    make_context(fiber);
}

void wm_fiber_switch(wm_fiber *from, wm_fiber *to) {
    before_switch(from, to, 0);
    jump(from, to);
    after_switch(from);
}

void wm_fiber_leave(wm_fiber *from, wm_fiber *to) {
    before_switch(from, to, 1);
    jump(from, to);
    __builtin_trap();
}

void wm_fiber_end(wm_fiber *fiber) {
#ifdef WM_FIBER_TSAN
    if (fiber->tsan) __tsan_destroy_fiber(fiber->tsan);
#endif
    fiber->tsan = NULL;
}
