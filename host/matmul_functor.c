/* SPDX-License-Identifier: Apache-2.0 */
/* The functor of a product as text for NVRTC. Lines are counted from the user's first one, so that its messages make
 * sense. */
#include "matmul_functor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *wm_matmul_functor_source(const wmMatmulFunctor *functor, int wide) {
    size_t room = strlen(functor->source) + strlen(functor->name) + 512;
    char *text = malloc(room);
    if (!text) return NULL;
    snprintf(text, room,
             "#include <warpmath/device/float.cuh>\n"
             "#line 1 \"functor.source\"\n%s\n"
             "#line 1 \"warpmath\"\n"
             "#define WM_MATMUL_FUNCTOR %s\n"
             "#define WM_MATMUL_FUNCTOR_REAL %s\n"
             "#include \"device/matmul_finish.cuh\"\n",
             functor->source, functor->name, wide ? "double" : "float");
    return text;
}
