/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom in memory, and its lines. docs/wisdom.md is the format. */
#ifndef WM_LIB_WISDOM_H
#define WM_LIB_WISDOM_H

#include "solver.h"
#include "text.h"
#include <pthread.h>
#include <warpmath/wisdom.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WM_WISDOM_LINE 2048        /* longest line, with its newline */
#define WM_WISDOM_BYTES (16 << 20) /* longest file */
#define WM_WISDOM_ENTRIES 65536    /* most entries, in memory and in a file */
#define WM_WISDOM_MACHINES 4096    /* most machines of a file */
#define WM_WISDOM_KNOBS 256
#define WM_MACHINE_TEXT 384

/** What is known of one problem on one machine. */
typedef struct wm_wise {
    uint64_t machine; /* hash of the machine's text */
    wmEffort effort;  /* WM_MEASURE or WM_EXHAUSTIVE */
    double seconds;
    int64_t stamp; /* when, in seconds since 1970 */
    char solver[64];
    int version;
    char knobs[WM_WISDOM_KNOBS]; /* "tile=128,stages=4"; "" for none */
    char problem[WM_PROBLEM_TEXT];
} wm_wise;

/** A machine that entries name by its hash: the text is for readers. */
typedef struct wm_machine {
    uint64_t hash;
    char text[WM_MACHINE_TEXT];
} wm_machine;

/** A set of entries, sorted by problem and machine. Plain data without a lock. */
typedef struct wm_wise_set {
    wm_wise **entry;
    int count, capacity;
    wm_machine **machine; /* sorted by hash */
    int machines, machine_capacity;
} wm_wise_set;

typedef struct wm_wisdom {
    pthread_mutex_t lock;
    wm_wise_set set;
    char *path;       /* of the file; NULL: none */
    char **forgotten; /* patterns whose entries the next save drops from the file */
    int forgotten_count;
    int machine_known[WM_OPERATIONS];
    wm_machine machine[WM_OPERATIONS]; /* this context's */
} wm_wisdom;

/* ---- Sets (wisdom_set.c) ---- */

/** 1 if an entry fits no solver here (any more): of two for one problem and machine it is the one that goes. */
typedef int (*wm_wise_stale)(void *user, const wm_wise *entry);

/** Adds a copy, or merges it with the entry that is there. WM_ERR_MEMORY leaves the set as it was. */
wmStatus wm_set_add(wm_wise_set *set, const wm_wise *entry, wm_wise_stale stale, void *user);
wmStatus wm_set_add_machine(wm_wise_set *set, const wm_machine *machine);
const wm_wise *wm_set_find(const wm_wise_set *set, const char *problem, uint64_t machine);
const wm_machine *wm_set_machine(const wm_wise_set *set, uint64_t hash);
void wm_set_remove(wm_wise_set *set, int index);
void wm_set_drop_oldest(wm_wise_set *set); /* there must be one */
void wm_set_clear(wm_wise_set *set);

/* ---- Lines (wisdom_line.c) ---- */

typedef enum wm_line {
    WM_LINE_BLANK,   /* empty, or a comment */
    WM_LINE_ENTRY,   /* *entry is filled */
    WM_LINE_MACHINE, /* *machine is filled */
    WM_LINE_NEWER,   /* of a format that a later warpmath writes: kept in files as it is */
    WM_LINE_BAD
} wm_line;

/** Reads one line of `length` bytes, without its newline; need not end with a NUL. */
wm_line wm_line_read(const char *line, size_t length, wm_wise *entry, wm_machine *machine);

/** Appends the line with its newline. */
void wm_line_entry(wm_text *out, const wm_wise *entry);
void wm_line_machine(wm_text *out, const wm_machine *machine);

/** Appends every line of the set. */
void wm_set_print(const wm_wise_set *set, wm_text *out);

/* ---- A context's wisdom (wisdom.c) ---- */

/** This context's machine as far as the operation is concerned: loads the libraries whose versions are part of it. */
const wm_machine *wm_wisdom_machine(wmContext *context, wm_op op);

/** Copies what is known of the problem on this machine; 0 if nothing is. */
int wm_wisdom_find(wmContext *context, const wm_problem *problem, wm_wise *out);

/** The same by the problem's canonical string. */
int wm_wisdom_find_text(wmContext *context, wm_op op, const char *problem, wm_wise *out);

/** 1 if anything is known of any problem. */
int wm_wisdom_any(wmContext *context);

/** Remembers a measured choice; 0 where memory is short. */
int wm_wisdom_learn(wmContext *context, const wm_problem *problem, const wm_solver *solver, const wm_offer *offer,
                    double seconds, wmEffort effort);

/** Sets the path (NULL option: WARPMATH_WISDOM, else the user's own) and reads the file if there is one. */
wmStatus wm_wisdom_open(wmContext *context, const char *option);
void wm_wisdom_close(wmContext *context);

/** The solver's row of an entry, if this context has it in that version; NULL: the entry is stale. */
const wm_solver *wm_wisdom_solver(const wmContext *context, const wm_wise *entry);

/** 1 if the offer's knobs are those of the entry's text. */
int wm_knobs_match(const wm_solver *solver, const wm_offer *offer, const char *knobs);

/* ---- Files (wisdom_file.c) ---- */

/** Adds the lines of a file's bytes; the rest as in wm_file_read. */
wmStatus wm_set_parse(wm_wise_set *set, const char *data, size_t bytes, wm_text *newer, wmWisdomCount *count,
                      wm_wise_stale stale, void *user);

/**
 * Reads a file into a set, line by line; what is damaged is counted and left out. `newer` (may be NULL) collects lines
 * of later formats. WM_ERR_IO: the file itself is missing or not to be trusted.
 */
wmStatus wm_file_read(const char *path, wm_wise_set *set, wm_text *newer, wmWisdomCount *count, wm_wise_stale stale,
                      void *user);

/** 1 if the entry is to be dropped from the file. */
typedef int (*wm_wise_dropped)(void *user, const wm_wise *entry);

/** Drops entries from the file, then merges the set into it: whole or not at all. */
wmStatus wm_file_merge(const char *path, const wm_wise_set *set, wmWisdomCount *count, wm_wise_stale stale,
                       wm_wise_dropped dropped, void *user);

#ifdef __cplusplus
}
#endif

#endif
