/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX's library, loaded where WARPMATH_NVTX asks: 1 for the usual soname, or the path of one. */
#include "nvtx.h"
#include "env.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static wm_nvtx functions;
static int complete;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void) {
    const char *wanted = wm_env("WARPMATH_NVTX");
    void *library = dlopen(strchr(wanted, '/') ? wanted : "libnvToolsExt.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    *(void **)&functions.push = dlsym(library, "nvtxRangePushA");
    *(void **)&functions.pop = dlsym(library, "nvtxRangePop");
    complete = functions.push && functions.pop;
}

const wm_nvtx *wm_nvtx_get(void) {
    if (!wm_env_flag("WARPMATH_NVTX")) return NULL;
    pthread_once(&once, find);
    return complete ? &functions : NULL;
}
