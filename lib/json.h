/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: commas and line breaks look after themselves. */
#ifndef WM_LIB_JSON_H
#define WM_LIB_JSON_H

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_json {
    wm_text *text;
    int depth;
    int filled[16]; /* whether the open object or array of each depth has a member */
} wm_json;

/** Opens with '{' or '['; key NULL inside an array and at the top. */
void wm_json_open(wm_json *json, const char *key, char bracket);
void wm_json_close(wm_json *json, char bracket);
void wm_json_string(wm_json *json, const char *key, const char *value);
void wm_json_number(wm_json *json, const char *key, double value);
void wm_json_integer(wm_json *json, const char *key, long long value);
void wm_json_bool(wm_json *json, const char *key, int value);

#ifdef __cplusplus
}
#endif

#endif
