/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation's atomics. Emulated threads never run at the same time, so each is plain arithmetic; what matters is
 * that the access checks know it was atomic.
 */
#include "simt_core.h"

#include <string.h>

static size_t size_of(int kind) {
    return kind == WM_SIMT_I32 || kind == WM_SIMT_U32 || kind == WM_SIMT_F32 ? 4 : 8;
}

static uint64_t on_integers(int op, uint64_t old, uint64_t x, bool less) {
    switch (op) {
    case WM_SIMT_ADD:
        return old + x;
    case WM_SIMT_SUB:
        return old - x;
    case WM_SIMT_MIN:
        return less ? x : old;
    case WM_SIMT_MAX:
        return less ? old : x;
    case WM_SIMT_AND_BITS:
        return old & x;
    case WM_SIMT_OR_BITS:
        return old | x;
    case WM_SIMT_XOR_BITS:
        return old ^ x;
    default:
        return x;
    }
}

/* Whether x < old, as values of the kind. */
static bool below(int kind, uint64_t x, uint64_t old) {
    if (kind == WM_SIMT_I32) return (int32_t)x < (int32_t)old;
    if (kind == WM_SIMT_I64) return (int64_t)x < (int64_t)old;
    return x < old;
}

static uint64_t add_floats(int kind, uint64_t old, uint64_t x) {
    uint64_t sum = 0;
    if (kind == WM_SIMT_F32) {
        float a, b;
        memcpy(&a, &old, 4);
        memcpy(&b, &x, 4);
        a += b;
        memcpy(&sum, &a, 4);
    } else {
        double a, b;
        memcpy(&a, &old, 8);
        memcpy(&b, &x, 8);
        a += b;
        memcpy(&sum, &a, 8);
    }
    return sum;
}

uint64_t wm_simt_atomic_op(int op, int kind, void *address, uint64_t value, uint64_t expected) {
    const void *pc = __builtin_return_address(0);
    size_t bytes = size_of(kind);
    uint64_t old = 0, next;
    bool floats = kind == WM_SIMT_F32 || kind == WM_SIMT_F64;
    if (!address || (uintptr_t)address % bytes) {
        wm_simt_fault(pc, "atomic on %zu bytes at %p", bytes, address);
        wm_simt_abort();
    }
    wm_simt_check(address, bytes, WM_SIMT_ATOMIC, pc);
    memcpy(&old, address, bytes);
    if (op == WM_SIMT_LOAD || (op == WM_SIMT_SWAP_IF && old != expected)) return old;
    if (floats && op == WM_SIMT_ADD)
        next = add_floats(kind, old, value);
    else
        next = on_integers(op, old, value, below(kind, value, old));
    memcpy(address, &next, bytes);
    return old;
}
