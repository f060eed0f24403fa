/* SPDX-License-Identifier: Apache-2.0 */
/* What the progress bar says of the time left; the bar itself is drawn on terminals alone. */
#include "tool/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void said(int64_t done, int64_t total, double elapsed, const char *words) {
    char text[48];
    wm_progress_left(done, total, elapsed, text, sizeof text);
    assert_string_equal(text, words);
}

static void time_left(void **unused) {
    (void)unused;
    said(0, 10, 5, ""); /* nothing to go by */
    said(1, 10, 5, ", about 45 s left");
    said(5, 10, 300, ", about 5 min left");
    said(10, 600, 300, ", about 4.9 h left");
    said(10, 10, 300, ", about 0 s left");
    said(1, 1000000000, 1e6, ", about 277777777500.0 h left");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
