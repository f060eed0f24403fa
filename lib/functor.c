/* SPDX-License-Identifier: Apache-2.0 */
/* The process' list of functors. */
#include "functor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SOURCE = 1 << 20, MOST_NAME = 64 };

typedef void (*any_function)(void);

enum { LOAD, STORE, MATMUL };

/** Of any kind; `host` is cast back to what its kind is. */
typedef struct functor {
    struct functor *next;
    int kind;
    wmType type;
    any_function host;
    char *source, *name;
} functor;

static functor *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const functor *find_equal(const functor *f) {
    const functor *at = kept;
    while (at && (at->kind != f->kind || at->type != f->type || at->host != f->host ||
                  strcmp(at->source, f->source) != 0 || strcmp(at->name, f->name) != 0))
        at = at->next;
    return at;
}

static const functor *add(const functor *f) {
    functor *made = malloc(sizeof *made);
    if (!made) return NULL;
    *made = *f;
    made->source = strdup(f->source);
    made->name = strdup(f->name);
    if (!made->source || !made->name) {
        free(made->source);
        free(made->name);
        free(made);
        return NULL;
    }
    made->next = kept;
    kept = made;
    return made;
}

static int is_word(const char *name) {
    size_t length = strlen(name);
    int fits = length > 0 && length < MOST_NAME && !(name[0] >= '0' && name[0] <= '9');
    for (const char *c = name; *c && fits; c++)
        fits = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
    return fits;
}

static wmStatus keep(const functor *given, const char *side, const functor **out) {
    functor f = *given;
    if (f.type && wmTypeSize(f.type) == 0)
        return wm_fail(WM_ERR_ARGUMENT, "%s.type is %d, which is no wmType", side, (int)f.type);
    if (f.source && (!f.name || !is_word(f.name)))
        return wm_fail(WM_ERR_ARGUMENT,
                       "%s.name is %s%.80s%s; it names a function of the source, of at most %d letters", side,
                       f.name ? "\"" : "", f.name ? f.name : "NULL", f.name ? "\"" : "", MOST_NAME - 1);
    if (f.source && strlen(f.source) > MOST_SOURCE)
        return wm_fail(WM_ERR_ARGUMENT, "%s.source has more than %d characters", side, MOST_SOURCE);
    if (!f.source) f.source = (char *)"";
    if (!f.name || !is_word(f.name)) f.name = (char *)"host";
    pthread_mutex_lock(&lock);
    *out = find_equal(&f);
    if (!*out) *out = add(&f);
    pthread_mutex_unlock(&lock);
    return *out ? WM_OK : wm_fail(WM_ERR_MEMORY, "out of memory for the text of %s.source", side);
}

static void give_load(const functor *f, wmFftLoad *load) {
    if (!f) return;
    load->source = f->source;
    load->name = f->name;
    load->type = f->type;
    load->host = (__typeof__(load->host))f->host;
}

static void give_store(const functor *f, wmFftStore *store) {
    if (!f) return;
    store->source = f->source;
    store->name = f->name;
    store->type = f->type;
    store->host = (__typeof__(store->host))f->host;
}

static void give_matmul(const functor *f, wmMatmulFunctor *out) {
    if (!f) return;
    out->source = f->source;
    out->name = f->name;
    out->host = (__typeof__(out->host))f->host;
}

/* The caller's, to be looked for and copied; its texts are not written. */
static functor given_as(int kind, wmType type, any_function host, const char *source, const char *name) {
    return (functor){
        .kind = kind, .type = type, .host = host, .source = (char *)(uintptr_t)source, .name = (char *)(uintptr_t)name};
}

wmStatus wm_functor_keep_load(wmFftLoad *load) {
    const functor *found = NULL;
    functor f = given_as(LOAD, load->type, (any_function)load->host, load->source, load->name);
    if (!load->source && !load->host) {
        memset(load, 0, sizeof *load);
        return WM_OK;
    }
    WM_TRY(keep(&f, "load", &found));
    give_load(found, load);
    return WM_OK;
}

wmStatus wm_functor_keep_store(wmFftStore *store) {
    const functor *found = NULL;
    functor f = given_as(STORE, store->type, (any_function)store->host, store->source, store->name);
    if (!store->source && !store->host) {
        memset(store, 0, sizeof *store);
        return WM_OK;
    }
    WM_TRY(keep(&f, "store", &found));
    give_store(found, store);
    return WM_OK;
}

wmStatus wm_functor_keep_matmul(wmMatmulFunctor *given) {
    const functor *found = NULL;
    functor f = given_as(MATMUL, WM_TYPE_UNSET, (any_function)given->host, given->source, given->name);
    if (!given->source && !given->host) {
        memset(given, 0, sizeof *given);
        return WM_OK;
    }
    WM_TRY(keep(&f, "functor", &found));
    give_matmul(found, given);
    return WM_OK;
}

/* ---- As text ---- */

static uint64_t hash_text(uint64_t hash, const char *text) { /* FNV-1a, its end included */
    do hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    while (*text++);
    return hash;
}

static void print(const functor *f, char out[WM_FUNCTOR_TEXT]) {
    uint64_t hash = hash_text(hash_text(0xcbf29ce484222325u, f->source), wmTypeName(f->type));
    snprintf(out, WM_FUNCTOR_TEXT, "%s:%016llx", f->name, (unsigned long long)hash);
}

void wm_functor_print(const char *source, char out[WM_FUNCTOR_TEXT]) {
    out[0] = 0;
    pthread_mutex_lock(&lock);
    for (const functor *f = kept; f; f = f->next)
        if (f->source == source) print(f, out);
    pthread_mutex_unlock(&lock);
}

static const functor *find_text(const char *text, size_t length, int kind) {
    const functor *found = NULL;
    char word[WM_FUNCTOR_TEXT];
    pthread_mutex_lock(&lock);
    for (const functor *f = kept; f; f = f->next) { /* of those that differ in the host function, one that has it */
        print(f, word);
        int fits = f->kind == kind && strlen(word) == length && memcmp(word, text, length) == 0;
        if (fits && (!found || (f->host && !found->host))) found = f;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int wm_functor_find_load(const char *text, size_t length, wmFftLoad *out) {
    const functor *f = find_text(text, length, LOAD);
    if (f) give_load(f, out);
    return f != NULL;
}

int wm_functor_find_store(const char *text, size_t length, wmFftStore *out) {
    const functor *f = find_text(text, length, STORE);
    if (f) give_store(f, out);
    return f != NULL;
}

int wm_functor_find_matmul(const char *text, size_t length, wmMatmulFunctor *out) {
    const functor *f = find_text(text, length, MATMUL);
    if (f) give_matmul(f, out);
    return f != NULL;
}
