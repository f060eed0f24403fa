/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a kernel's loads and stores visible. Kernels are compiled with -fsanitize=thread and linked without its
 * library: these are the functions that the compiler then calls before each access. Under a real sanitizer kernels are
 * compiled without that option (CMakeLists.txt) and only the first two functions are left.
 */
#include "simt_core.h"

#include <stdint.h>

int wm_simt_hooks_seen;

int wm_simt_instrumented(void) {
    return wm_simt_hooks_seen;
}

#ifndef WM_FIBER_TSAN

/* Called by a constructor of each instrumented file. */
void __tsan_init(void);
void __tsan_init(void) {
    wm_simt_hooks_seen = 1;
}

static inline void any(const void *address, size_t bytes, wm_simt_access access, const void *pc) {
    if (wm_simt_self) wm_simt_check(address, bytes, access, pc);
}

/* An access whose type promises alignment: a GPU stops at a misaligned one. */
static inline void aligned(const void *address, size_t bytes, wm_simt_access access, const void *pc) {
    if (!wm_simt_self) return;
    if ((uintptr_t)address % bytes) {
        wm_simt_fault(pc, "accesses %zu bytes at %p, which is not a multiple of that", bytes, address);
        wm_simt_abort();
    }
    wm_simt_check(address, bytes, access, pc);
}

void __tsan_read1(const void *p);
void __tsan_read2(const void *p);
void __tsan_read4(const void *p);
void __tsan_read8(const void *p);
void __tsan_read16(const void *p);
void __tsan_write1(void *p);
void __tsan_write2(void *p);
void __tsan_write4(void *p);
void __tsan_write8(void *p);
void __tsan_write16(void *p);
void __tsan_unaligned_read2(const void *p);
void __tsan_unaligned_read4(const void *p);
void __tsan_unaligned_read8(const void *p);
void __tsan_unaligned_read16(const void *p);
void __tsan_unaligned_write2(void *p);
void __tsan_unaligned_write4(void *p);
void __tsan_unaligned_write8(void *p);
void __tsan_unaligned_write16(void *p);
void __tsan_read_range(const void *p, size_t bytes);
void __tsan_write_range(void *p, size_t bytes);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);

void __tsan_read1(const void *p) {
    aligned(p, 1, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_read2(const void *p) {
    aligned(p, 2, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_read4(const void *p) {
    aligned(p, 4, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_read8(const void *p) {
    aligned(p, 8, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_read16(const void *p) {
    aligned(p, 16, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_write1(void *p) {
    aligned(p, 1, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_write2(void *p) {
    aligned(p, 2, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_write4(void *p) {
    aligned(p, 4, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_write8(void *p) {
    aligned(p, 8, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_write16(void *p) {
    aligned(p, 16, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_unaligned_read2(const void *p) {
    any(p, 2, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_unaligned_read4(const void *p) {
    any(p, 4, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_unaligned_read8(const void *p) {
    any(p, 8, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_unaligned_read16(const void *p) {
    any(p, 16, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_unaligned_write2(void *p) {
    any(p, 2, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_unaligned_write4(void *p) {
    any(p, 4, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_unaligned_write8(void *p) {
    any(p, 8, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_unaligned_write16(void *p) {
    any(p, 16, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_read_range(const void *p, size_t bytes) {
    any(p, bytes, WM_SIMT_READ, __builtin_return_address(0));
}
void __tsan_write_range(void *p, size_t bytes) {
    any(p, bytes, WM_SIMT_WRITE, __builtin_return_address(0));
}
void __tsan_func_entry(void *pc) {
    (void)pc;
}
void __tsan_func_exit(void) {}

#endif
