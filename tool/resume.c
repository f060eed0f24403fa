/* SPDX-License-Identifier: Apache-2.0 */
/* Going on with a file of results. */
#include "resume.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"

int wm_append_file(const char *path, const char *data, size_t bytes) {
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return wm_tool_fail("%s: %m", path);
    ssize_t written = write(file, data, bytes);
    int status = written == (ssize_t)bytes ? WM_EXIT_OK : wm_tool_fail("%s: writing failed: %m", path);
    (void)close(file);
    return status;
}

/* "fft c2c f32 64",… is a row of that problem. */
static bool is_row_of(const char *line, const char *problem) {
    size_t length = strlen(problem);
    return line[0] == '"' && strncmp(line + 1, problem, length) == 0 && line[1 + length] == '"';
}

static void take_off(wm_list *list, const char *line) {
    int kept = 0;
    for (int i = 0; i < list->count; i++) {
        if (is_row_of(line, list->entry[i].problem)) {
            free(list->entry[i].problem);
        } else {
            list->entry[kept++] = list->entry[i];
        }
    }
    list->count = kept;
}

static int read_rows(wm_list *list, FILE *file, const char *path, const char *header) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    long whole = 0;
    bool headed = false;
    int status = WM_EXIT_OK;
    while (!status && (length = getline(&line, &room, file)) > 0 && line[length - 1] == '\n') {
        whole += length;
        if (line[0] == '#') continue;
        if (!headed && strcmp(line, header) != 0) status = wm_tool_fail("%s: its columns are not those of bench", path);
        if (headed) take_off(list, line);
        headed = true;
    }
    free(line);
    if (!status && ferror(file)) return wm_tool_fail("%s: %m", path);
    if (!status && length > 0 && truncate(path, whole) != 0) return wm_tool_fail("%s: %m", path);
    if (!status && !headed) status = wm_append_file(path, header, strlen(header));
    return status;
}

int wm_resume(wm_list *list, const char *path, const char *header) {
    if (access(path, F_OK) != 0) return wm_append_file(path, header, strlen(header));
    FILE *file = fopen(path, "re");
    if (!file) return wm_tool_fail("%s: %m", path);
    int status = read_rows(list, file, path, header);
    (void)fclose(file);
    return status;
}
