/* SPDX-License-Identifier: Apache-2.0 */
/* Functors as text for NVRTC. Lines are counted from the user's first one, so that its messages make sense. */
#include "fft_functor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "#include <warpmath/device/fft.cuh>\n#include <warpmath/device/float.cuh>\n";

char *wm_fft_functor_source(const wmFftLoad *load, const wmFftStore *store, const char *rest) {
    const char *first = load && load->source ? load->source : "", *second = store && store->source ? store->source : "";
    if (strcmp(first, second) == 0) second = ""; /* one text may define both */
    size_t room = sizeof head + strlen(first) + strlen(second) + strlen(rest) + 512;
    char *text = malloc(room);
    if (!text) return NULL;
    size_t length = (size_t)snprintf(text, room, "%s", head);
    if (first[0]) length += (size_t)snprintf(text + length, room - length, "#line 1 \"load.source\"\n%s\n", first);
    if (second[0]) length += (size_t)snprintf(text + length, room - length, "#line 1 \"store.source\"\n%s\n", second);
    length += (size_t)snprintf(text + length, room - length, "#line 1 \"warpmath\"\n");
    if (load && load->source)
        length += (size_t)snprintf(text + length, room - length, "#define WM_FFT_LOAD %s\n", load->name);
    if (store && store->source)
        length += (size_t)snprintf(text + length, room - length, "#define WM_FFT_STORE %s\n", store->name);
    snprintf(text + length, room - length, "%s", rest);
    return text;
}
