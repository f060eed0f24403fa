/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON writer over growing text. */
#include "json.h"

static void start(wm_json *json, const char *key) {
    if (json->depth > 0) {
        wm_text_add(json->text, "%s\n%*s", json->filled[json->depth] ? "," : "", 2 * json->depth, "");
        json->filled[json->depth] = 1;
    }
    if (!key) return;
    wm_text_quote(json->text, key);
    wm_text_add(json->text, ": ");
}

void wm_json_open(wm_json *json, const char *key, char bracket) {
    start(json, key);
    wm_text_add(json->text, "%c", bracket);
    if (json->depth < 15) json->depth++;
    json->filled[json->depth] = 0;
}

void wm_json_close(wm_json *json, char bracket) {
    int filled = json->filled[json->depth];
    json->depth--;
    if (filled) wm_text_add(json->text, "\n%*s", 2 * json->depth, "");
    wm_text_add(json->text, "%c%s", bracket, json->depth ? "" : "\n");
}

void wm_json_string(wm_json *json, const char *key, const char *value) {
    start(json, key);
    wm_text_quote(json->text, value);
}

void wm_json_number(wm_json *json, const char *key, double value) {
    start(json, key);
    wm_text_number(json->text, value);
}

void wm_json_integer(wm_json *json, const char *key, long long value) {
    start(json, key);
    wm_text_add(json->text, "%lld", value);
}

void wm_json_bool(wm_json *json, const char *key, int value) {
    start(json, key);
    wm_text_add(json->text, value ? "true" : "false");
}
