/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that are whole or not there. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"

/*
 * The temporary file, which an interrupt must remove. It is named in place by mkostemp(), so there is no moment at
 * which the file exists and the handler does not know it.
 */
static char temporary[PATH_MAX];
static volatile sig_atomic_t doomed;

static void remove_and_die(int signal_number) {
    if (doomed) (void)unlink(temporary);
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

static void catch_interrupts(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old;
        /* A signal that the caller ignores (nohup) stays ignored. */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
            (void)signal(signals[i], remove_and_die);
        }
    }
}

/* The mode of the file being replaced, else what open() would have given. */
static mode_t final_mode(const struct stat *old) {
    if (old) return old->st_mode & 07777;
    mode_t mask = umask(0);
    (void)umask(mask);
    return 0666 & ~mask;
}

static int open_temporary(wm_output *out, const struct stat *old) {
    const char *slash = strrchr(out->path, '/');
    int folder = slash ? (int)(slash - out->path) + 1 : 0;
    int length = snprintf(temporary, sizeof temporary, "%.*s.%s.XXXXXX", folder, out->path, out->path + folder);
    if (length >= (int)sizeof temporary) return wm_tool_fail("%s: the path is too long", out->name);
    catch_interrupts();
    doomed = 1;
    out->fd = mkostemp(temporary, O_CLOEXEC);
    if (out->fd < 0) {
        doomed = 0;
        return wm_tool_fail("%s: cannot write there: %m", out->name);
    }
    out->renames = true;
    if (fchmod(out->fd, final_mode(old)) != 0) return wm_tool_fail("%s: cannot set its mode: %m", out->name);
    return WM_EXIT_OK;
}

/* Devices and pipes are written in place: renaming over /dev/null would replace the device. */
static int open_in_place(wm_output *out) {
    out->fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (out->fd < 0) return wm_tool_fail("%s: cannot write there: %m", out->name);
    return WM_EXIT_OK;
}

int wm_output_open(wm_output *out, const char *name) {
    struct stat old;
    int status;
    memset(out, 0, sizeof *out);
    out->fd = -1;
    out->name = name;
    if (!*name) return wm_tool_fail("the output file's name is empty");
    bool exists = stat(name, &old) == 0;
    if (!exists && errno != ENOENT) return wm_tool_fail("%s: cannot write there: %m", name);
    if (exists && S_ISDIR(old.st_mode)) return wm_tool_fail("%s: is a folder; name a file", name);
    out->path = exists ? realpath(name, NULL) : strdup(name);
    if (!out->path) return wm_tool_fail("%s: cannot write there: %m", name);
    /* A file whose mode forbids writing is not replaced, although its folder would allow that. */
    if (exists && access(name, W_OK) != 0) {
        status = wm_tool_fail("%s: cannot write there: %m", name);
    } else if (exists && !S_ISREG(old.st_mode)) {
        status = open_in_place(out);
    } else {
        status = open_temporary(out, exists ? &old : NULL);
    }
    if (status) wm_output_discard(out);
    return status;
}

int wm_output_write(wm_output *out, const void *data, size_t bytes) {
    const char *next = data;
    while (bytes) {
        ssize_t written = write(out->fd, next, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return wm_tool_fail("%s: writing failed: %m", out->name);
        next += written;
        bytes -= (size_t)written;
    }
    return WM_EXIT_OK;
}

/* Makes the rename itself durable. File systems that cannot sync a folder say EINVAL; there is nothing more to do. */
static void sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) return;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0) return;
    (void)fsync(fd);
    (void)close(fd);
}

int wm_output_commit(wm_output *out) {
    int status = WM_EXIT_OK;
    /* Pipes and devices answer EINVAL or EROFS to fsync, which means that there is nothing to sync. */
    if (out->renames && fsync(out->fd) != 0) status = wm_tool_fail("%s: writing failed: %m", out->name);
    if (close(out->fd) != 0 && !status) status = wm_tool_fail("%s: writing failed: %m", out->name);
    out->fd = -1;
    if (out->renames && !status) {
        if (rename(temporary, out->path) == 0) {
            doomed = 0;
            out->renames = false;
            sync_folder(out->path);
        } else {
            status = wm_tool_fail("%s: cannot put the file in place: %m", out->name);
        }
    }
    wm_output_discard(out);
    return status;
}

void wm_output_discard(wm_output *out) {
    if (out->fd >= 0) (void)close(out->fd);
    if (out->renames) {
        (void)unlink(temporary);
        doomed = 0;
    }
    free(out->path);
    memset(out, 0, sizeof *out);
    out->fd = -1;
}
