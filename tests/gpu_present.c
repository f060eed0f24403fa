/* SPDX-License-Identifier: Apache-2.0 */
/* Exit status 0 if the GPU place can be used, else 1 with the reason: tests labelled gpu ask first. */
#include <warpmath/warpmath.h>

#include <stdio.h>

int main(void) {
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_GPU;
    wmStatus status = wmContextCreate(&context, &options);
    if (status != WM_OK) printf("no GPU place: %s\n", wmLastError());
    wmContextDestroy(context);
    return status == WM_OK ? 0 : 1;
}
