/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wisdom files. Read: only a regular file that nobody else could have written, never through a link. Written: under an
 * advisory lock, into a new file that is synced and renamed over the old one, so that a killed writer tears nothing.
 */
#include "files.h"
#include "wisdom.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 5000, LOCK_STEP_MS = 10 };

static wmStatus io_fail(const char *path, const char *what) {
    char text[128];
    int error = errno;
    return wm_fail(WM_ERR_IO, "wisdom file %.200s: %s: %s", path, what, strerror_r(error, text, sizeof text));
}

/* A path as its folder, held open, and the name in it. */
typedef struct place {
    const char *path; /* for sentences */
    char folder[PATH_MAX];
    const char *name;
    int fd; /* the folder; -1: not open */
} place;

static wmStatus split(place *p, const char *path) {
    p->path = path;
    p->fd = -1;
    const char *slash = strrchr(path, '/');
    p->name = slash ? slash + 1 : path;
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (!*p->name || strlen(p->name) > NAME_MAX - 8 || length >= sizeof p->folder) {
        return wm_fail(WM_ERR_IO, "\"%.200s\" is no usable path of a wisdom file", path);
    }
    memcpy(p->folder, path, length);
    p->folder[length] = '\0';
    if (!length) snprintf(p->folder, sizeof p->folder, "%s", slash ? "/" : ".");
    return WM_OK;
}

static wmStatus open_folder(place *p, int writing) {
    p->fd = wm_folder_open(p->folder, writing, 0);
    if (p->fd < 0) return io_fail(p->path, "opening its folder");
    struct stat s;
    if (fstat(p->fd, &s) != 0) return io_fail(p->path, "looking at its folder");
    /* Others may share a sticky folder: there they can neither rename nor remove what is ours. */
    if (writing && !wm_file_is_trusted(&s) && !(s.st_mode & S_ISVTX)) {
        return wm_fail(WM_ERR_IO, "wisdom file %.200s: its folder is writable by others, or another user's", p->path);
    }
    return WM_OK;
}

/* ---- Reading ---- */

/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
static wmStatus open_file(const place *p, int *fd, size_t *bytes) {
    *fd = openat(p->fd, p->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0) return io_fail(p->path, errno == ELOOP ? "it is a symbolic link" : "opening it");
    struct stat s;
    if (fstat(*fd, &s) != 0) return io_fail(p->path, "looking at it");
    if (!S_ISREG(s.st_mode)) return wm_fail(WM_ERR_IO, "wisdom file %.200s: it is not a regular file", p->path);
    if (!wm_file_is_trusted(&s)) {
        return wm_fail(WM_ERR_IO, "wisdom file %.200s: it is writable by others, or another user's", p->path);
    }
    if (s.st_size > WM_WISDOM_BYTES) {
        return wm_fail(WM_ERR_IO, "wisdom file %.200s: its %lld bytes are more than %d", p->path, (long long)s.st_size,
                       WM_WISDOM_BYTES);
    }
    *bytes = (size_t)s.st_size;
    return WM_OK;
}

static wmStatus read_all(const place *p, int fd, size_t bytes, char **out, size_t *got) {
    *got = 0;
    *out = (char *)malloc(bytes + 1);
    if (!*out) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    long long read = wm_file_read_whole(fd, *out, bytes);
    if (read < 0) return io_fail(p->path, "reading it");
    *got = (size_t)read;
    return WM_OK;
}

wmStatus wm_set_parse(wm_wise_set *set, const char *data, size_t bytes, wm_text *newer, wmWisdomCount *count,
                      wm_wise_stale stale, void *user) {
    wm_wise entry;
    wm_machine machine;
    for (size_t at = 0; at < bytes;) {
        const char *end = (const char *)memchr(data + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - data) - at : bytes - at;
        wm_line kind = wm_line_read(data + at, length, &entry, &machine);
        /* A last line without its newline was cut, even where what is left of it reads well. */
        if (!end && kind != WM_LINE_BLANK) kind = WM_LINE_BAD;
        if (kind == WM_LINE_ENTRY) {
            WM_TRY(wm_set_add(set, &entry, stale, user));
            count->used++;
        } else if (kind == WM_LINE_MACHINE) {
            WM_TRY(wm_set_add_machine(set, &machine));
        } else if (kind == WM_LINE_NEWER) {
            if (newer) wm_text_add(newer, "%.*s\n", (int)length, data + at);
            count->other++;
        } else if (kind == WM_LINE_BAD) {
            count->skipped++;
        }
        at += length + 1;
    }
    return WM_OK;
}

static wmStatus read_place(const place *p, wm_wise_set *set, wm_text *newer, wmWisdomCount *count, wm_wise_stale stale,
                           void *user) {
    int fd = -1;
    size_t bytes = 0, got = 0;
    char *data = NULL;
    wmStatus status = open_file(p, &fd, &bytes);
    if (status == WM_OK) status = read_all(p, fd, bytes, &data, &got);
    if (status == WM_OK) status = wm_set_parse(set, data, got, newer, count, stale, user);
    free(data);
    if (fd >= 0) close(fd);
    return status;
}

wmStatus wm_file_read(const char *path, wm_wise_set *set, wm_text *newer, wmWisdomCount *count, wm_wise_stale stale,
                      void *user) {
    place p;
    WM_TRY(split(&p, path));
    wmStatus status = open_folder(&p, 0);
    if (status == WM_OK) status = read_place(&p, set, newer, count, stale, user);
    if (p.fd >= 0) close(p.fd);
    return status;
}

/* ---- Writing ---- */

/* The lock is a file of its own: the wisdom file itself is replaced under it. */
static wmStatus take_lock(const place *p, int *fd) {
    char name[NAME_MAX + 1];
    snprintf(name, sizeof name, "%.240s.lock", p->name);
    *fd = openat(p->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (*fd < 0) return io_fail(p->path, "opening its lock");
    for (int waited = 0;; waited += LOCK_STEP_MS) {
        if (flock(*fd, LOCK_EX | LOCK_NB) == 0) return WM_OK;
        if (errno != EWOULDBLOCK && errno != EINTR) return io_fail(p->path, "locking it");
        if (waited >= LOCK_WAIT_MS) {
            return wm_fail(WM_ERR_IO, "wisdom file %.200s: another process has held its lock for %d s", p->path,
                           LOCK_WAIT_MS / 1000);
        }
        const struct timespec step = {0, LOCK_STEP_MS * 1000000L};
        nanosleep(&step, NULL);
    }
}

static wmStatus write_all(const place *p, int fd, const char *data, size_t bytes) {
    if (!wm_file_write_whole(fd, data, bytes)) return io_fail(p->path, "writing it");
    return fsync(fd) == 0 ? WM_OK : io_fail(p->path, "syncing it");
}

static wmStatus replace(const place *p, const wm_text *text) {
    char name[NAME_MAX + 1];
    snprintf(name, sizeof name, "%.240s.new", p->name);
    (void)unlinkat(p->fd, name, 0); /* of a writer that was killed: the lock is ours */
    int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return io_fail(p->path, "making its successor");
    wmStatus status = write_all(p, fd, text->data, text->length);
    if (close(fd) != 0 && status == WM_OK) status = io_fail(p->path, "closing it");
    if (status == WM_OK && renameat(p->fd, name, p->fd, p->name) != 0) status = io_fail(p->path, "renaming it");
    if (status != WM_OK) {
        (void)unlinkat(p->fd, name, 0);
        return status;
    }
    (void)fsync(p->fd); /* a folder that cannot be synced holds the old file or the new one all the same */
    return WM_OK;
}

static void render(wm_text *out, wm_wise_set *set, const wm_text *newer) {
    for (;;) {
        wm_text_add(out, "# warpmath wisdom: which solver won where; docs/wisdom.md tells the format\n");
        wm_set_print(set, out);
        if (newer->length) wm_text_add_bytes(out, newer->data, newer->length);
        if (out->length <= WM_WISDOM_BYTES || out->failed || set->count == 0) return;
        for (int drop = set->count / 8 + 1; drop > 0; drop--) wm_set_drop_oldest(set);
        out->length = 0;
    }
}

static wmStatus merge_locked(const place *p, const wm_wise_set *from, wm_wise_set *set, wm_text *newer, wm_text *out,
                             wmWisdomCount *count, wm_wise_stale stale, wm_wise_dropped dropped, void *user) {
    struct stat s;
    if (fstatat(p->fd, p->name, &s, AT_SYMLINK_NOFOLLOW) == 0) WM_TRY(read_place(p, set, newer, count, stale, user));
    for (int i = set->count; dropped && i-- > 0;) {
        if (dropped(user, set->entry[i])) wm_set_remove(set, i);
    }
    for (int i = 0; i < from->machines; i++) WM_TRY(wm_set_add_machine(set, from->machine[i]));
    for (int i = 0; i < from->count; i++) WM_TRY(wm_set_add(set, from->entry[i], stale, user));
    render(out, set, newer);
    if (out->failed || newer->failed) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    count->used = set->count;
    return replace(p, out);
}

wmStatus wm_file_merge(const char *path, const wm_wise_set *set, wmWisdomCount *count, wm_wise_stale stale,
                       wm_wise_dropped dropped, void *user) {
    place p;
    int lock = -1;
    wm_wise_set merged = {0};
    wm_text newer = {0}, out = {0};
    WM_TRY(split(&p, path));
    wmStatus status = open_folder(&p, 1);
    if (status == WM_OK) status = take_lock(&p, &lock);
    if (status == WM_OK) status = merge_locked(&p, set, &merged, &newer, &out, count, stale, dropped, user);
    if (lock >= 0) close(lock);
    if (p.fd >= 0) close(p.fd);
    wm_set_clear(&merged);
    wm_text_free(&newer);
    wm_text_free(&out);
    return status;
}
