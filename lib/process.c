/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process id, kept in a page that the kernel wipes in every child, however it was forked (madvise(2),
 * MADV_WIPEONFORK): handlers of pthread_atfork miss children that are made without it. A kernel before 4.14 is asked
 * each time.
 */
#include "process.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int *kept;

static void make_page(void) {
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, bytes);
        return;
    }
    kept = (atomic_int *)page;
}

pid_t wm_process(void) {
    pthread_once(&once, make_page);
    if (!kept) return getpid();
    int process = atomic_load_explicit(kept, memory_order_relaxed);
    if (process == 0) {
        process = getpid();
        atomic_store_explicit(kept, process, memory_order_relaxed);
    }
    return process;
}
