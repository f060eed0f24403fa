/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables, none of which a setuid program listens to. */
#include "env.h"
#include <stdlib.h>
#include <string.h>

const char *wm_env_even_empty(const char *name) {
    return secure_getenv(name);
}

const char *wm_env(const char *name) {
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

int wm_env_flag(const char *name) {
    const char *value = wm_env(name);
    return value && strcmp(value, "0") != 0;
}
