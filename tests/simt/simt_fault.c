/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation's reports: "wm_foo_kernel, block 3,0,0, thread 17, foo.cu:88: reads …". Code addresses are turned into
 * lines by binutils' addr2line, where it is installed; otherwise the report has the address.
 */
#include "simt_core.h"
#include "tests/fake_memory.h"

#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PLACES = 512, MAX_TOLD = 128, MAX_FRAMES = 3 };

typedef struct place {
    const void *pc;
    char function[64]; /* that holds the code: the outermost of what was inlined */
    char text[192];    /* lines, innermost first, without our own wrappers' */
} place;

static place places[MAX_PLACES];
static int place_count;

typedef struct told_fault {
    const void *pc;
    const char *format;
} told_fault;

static told_fault told[MAX_TOLD];
static int told_count;

typedef struct module {
    uintptr_t pc, bias;
    char path[512];
} module;

static int find_module(struct dl_phdr_info *info, size_t size, void *data) {
    module *m = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || m->pc - first >= info->dlpi_phdr[i].p_memsz) continue;
        m->bias = info->dlpi_addr;
        if (info->dlpi_name[0]) {
            snprintf(m->path, sizeof m->path, "%s", info->dlpi_name);
        } else { /* the program itself */
            ssize_t n = readlink("/proc/self/exe", m->path, sizeof m->path - 1);
            m->path[n > 0 ? n : 0] = '\0';
        }
        return 1;
    }
    return 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_wrapper(const char *file) {
    return !strncmp(file, "simt_cuda.h:", 12) || !strncmp(file, "base.cuh:", 9) || !strncmp(file, "float.cuh:", 10);
}

/* Reads addr2line's pairs of lines, a function and a file:line. */
static void read_frames(FILE *pipe, place *p) {
    char function[256], file[512];
    int frames = 0;
    while (fgets(function, sizeof function, pipe) && fgets(file, sizeof file, pipe)) {
        const char *name = base_name(file);
        function[strcspn(function, "\n(")] = '\0';
        file[strcspn(file, "\n ")] = '\0'; /* a discriminator may follow */
        if (function[0] != '?') snprintf(p->function, sizeof p->function, "%.63s", function);
        if (name[0] == '?' || is_wrapper(name) || frames >= MAX_FRAMES) continue;
        size_t used = strlen(p->text);
        snprintf(p->text + used, sizeof p->text - used, "%s%s", used ? " < " : "", name);
        frames++;
    }
}

static const place *look_up(const void *pc) {
    module m = {.pc = (uintptr_t)pc};
    char command[640];
    place *p;
    for (int i = 0; i < place_count; i++)
        if (places[i].pc == pc) return &places[i];
    p = &places[place_count < MAX_PLACES ? place_count++ : MAX_PLACES - 1];
    memset(p, 0, sizeof *p);
    p->pc = pc;
    if (dl_iterate_phdr(find_module, &m)) {
        /* One byte back: a return address belongs to what follows the call. */
        snprintf(command, sizeof command, "addr2line -Cfie '%s' 0x%zx 2>/dev/null", m.path,
                 (size_t)(m.pc - m.bias - 1));
        FILE *pipe = popen(command, "r");
        if (pipe) {
            read_frames(pipe, p);
            pclose(pipe);
        }
    }
    if (!p->text[0]) snprintf(p->text, sizeof p->text, "code at %p", pc);
    return p;
}

const char *wm_simt_place(const void *pc) {
    return look_up(pc)->text;
}

/* One report is enough of a kind of fault at a place: a kernel that is wrong is wrong in each thread. */
static bool told_before(const void *pc, const char *format) {
    for (int i = 0; i < told_count; i++)
        if (told[i].pc == pc && told[i].format == format) return true;
    if (told_count < MAX_TOLD) {
        told[told_count].pc = pc;
        told[told_count++].format = format;
    }
    return false;
}

void wm_simt_fault(const void *pc, const char *format, ...) {
    const wm_simt_thread *self = wm_simt_self;
    const wm_launch *launch = wm_simt_group_now.launch;
    if (told_before(pc ? pc : launch ? launch->kernel : NULL, format)) return;
    char what[1024], where[320] = "";
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (self && launch) {
        const wm_simt_here *h = &self->here;
        const char *name = look_up((const char *)launch->kernel + 1)->function;
        snprintf(where, sizeof where, "%s, block %u,%u,%u, thread %d, %s: ", name[0] ? name : "kernel", h->block.x,
                 h->block.y, h->block.z, (int)(self - self->block->thread), pc ? wm_simt_place(pc) : "at its end");
    }
    wm_fault("%s%s", where, what);
}

const char *wm_simt_faults(void) {
    return wm_faults();
}

int wm_simt_fault_count(void) {
    return wm_fault_count();
}

void wm_simt_faults_clear(void) {
    wm_faults_clear();
    told_count = 0;
}
