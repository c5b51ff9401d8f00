/* Counts the system calls that change files or talk to a server, and kills the process or lets the
   disk be full at a chosen one. Loaded before the C library (LD_PRELOAD), so that the C code of
   SQLite, libpq and PostgreSQL is met as well as Python's. What to do stands in a file that all
   processes concerned share (see interposing.py, which knows the same layout). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 1, SPACE = 2, SOCKETS = 4, GROWTH = 8 };
enum { NOTHING, KILL_BEFORE, KILL_HALFWAY, KILL_AFTER, FULL, FULL_HALFWAY };

static struct {
    volatile long pid;    /* whose calls count: a process, -1 for everybody's, 0 for nobody's */
    volatile long kinds;  /* which calls count */
    volatile long at;     /* the number of the call at which it happens */
    volatile long action; /* what happens */
    volatile long seen;   /* how many calls there were */
    volatile long done;   /* whether it happened */
    volatile long clock;  /* seconds by which the clock is wrong */
    volatile char calls[4000]; /* which calls they were */
} nowhere, *volatile control;

static void load(void) {
    const char *name = getenv("FAULTS_CONTROL");
    int file = name ? (int)open(name, O_RDWR | O_CLOEXEC) : -1;
    void *made = MAP_FAILED;
    if (file >= 0) {
        made = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
    control = made == MAP_FAILED ? &nowhere : made;
}

static int due(int kind, char call) {
    static __thread int loading;
    if (loading) return NOTHING;
    if (!control) {
        loading = 1;
        load();
        loading = 0;
    }
    long whose = control->pid;
    if (!whose || (whose > 0 && whose != getpid()) || !(control->kinds & kind)) return NOTHING;
    long now = __sync_add_and_fetch(&control->seen, 1), action = control->action;
    if (now <= (long)sizeof control->calls) control->calls[now - 1] = call;
    if (!control->at || now < control->at) return NOTHING;
    if (action >= FULL) {
        if (!(kind & (SPACE | GROWTH))) return NOTHING;
        control->done = 1;
        return now == control->at ? action : FULL; /* full from here on */
    }
    if (now > control->at) return NOTHING;
    control->done = 1;
    return action;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* What a call on an open file is; `end` is where it would end, or -1 if it needs no room. */
static int kind_of(int file, off64_t end) {
    struct stat64 found;
    int before = errno, failed = fstat64(file, &found);
    errno = before;
    if (failed) return 0;
    if (S_ISSOCK(found.st_mode)) return SOCKETS;
    if (!S_ISREG(found.st_mode)) return 0;
    return end < 0 ? FILES : end > found.st_size ? FILES | SPACE | GROWTH : FILES | SPACE;
}

static off64_t here(int file) {
    int before = errno;
    off64_t at = fcntl(file, F_GETFL) & O_APPEND ? lseek64(file, 0, SEEK_END)
                                                 : lseek64(file, 0, SEEK_CUR);
    errno = before;
    return at < 0 ? 0 : at;
}

static off64_t sum(const struct iovec *parts, int count) {
    off64_t size = 0;
    for (int part = 0; part < count; part++) size += parts[part].iov_len;
    return size;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A call that is made whole or not at all. */
#define WHOLE(type, name, kind, call, parameters, arguments)  \
    type name parameters {                                    \
        int kinds = (kind), what = kinds ? due(kinds, call) : NOTHING; \
        if (what == KILL_BEFORE || what == KILL_HALFWAY) die(); \
        if (what >= FULL) { errno = ENOSPC; return -1; }      \
        type result = REAL(name) arguments;                   \
        if (what == KILL_AFTER) die();                        \
        return result;                                        \
    }

/* A call that writes `size` bytes, perhaps half of them. */
#define PART(name, call, start, parameters, arguments, half)  \
    ssize_t name parameters {                                 \
        int kinds = kind_of(file, (start) + (off64_t)size), what = kinds ? due(kinds, call) : NOTHING; \
        if (what == KILL_BEFORE) die();                       \
        if (what == KILL_HALFWAY) { if (size > 1) REAL(name) half; die(); } \
        if (what == FULL_HALFWAY && size > 1) return REAL(name) half; \
        if (what >= FULL) { errno = ENOSPC; return -1; }      \
        ssize_t result = REAL(name) arguments;                \
        if (what == KILL_AFTER) die();                        \
        return result;                                        \
    }

PART(write, 'w', here(file), (int file, const void *from, size_t size), (file, from, size),
     (file, from, size / 2))
PART(pwrite, 'w', at, (int file, const void *from, size_t size, off_t at), (file, from, size, at),
     (file, from, size / 2, at))
PART(pwrite64, 'w', at, (int file, const void *from, size_t size, off64_t at), (file, from, size, at),
     (file, from, size / 2, at))
PART(send, 's', 0, (int file, const void *from, size_t size, int how), (file, from, size, how),
     (file, from, size / 2, how))
WHOLE(ssize_t, writev, kind_of(file, here(file) + sum(v, n)), 'w',
      (int file, const struct iovec *v, int n), (file, v, n))
WHOLE(ssize_t, pwritev, kind_of(file, at + sum(v, n)), 'w',
      (int file, const struct iovec *v, int n, off_t at), (file, v, n, at))
WHOLE(ssize_t, pwritev64, kind_of(file, at + sum(v, n)), 'w',
      (int file, const struct iovec *v, int n, off64_t at), (file, v, n, at))
WHOLE(int, fsync, kind_of(file, -1), 'f', (int file), (file))
WHOLE(int, fdatasync, kind_of(file, -1), 'f', (int file), (file))
WHOLE(int, ftruncate, kind_of(file, -1), 't', (int file, off_t size), (file, size))
WHOLE(int, ftruncate64, kind_of(file, -1), 't', (int file, off64_t size), (file, size))
WHOLE(int, fchmod, kind_of(file, -1), 'm', (int file, mode_t mode), (file, mode))
WHOLE(int, chmod, FILES, 'm', (const char *path, mode_t mode), (path, mode))
WHOLE(int, rename, FILES, 'r', (const char *from, const char *to), (from, to))
WHOLE(int, renameat, FILES, 'r', (int a, const char *from, int b, const char *to),
      (a, from, b, to))
WHOLE(int, link, FILES | SPACE | GROWTH, 'l', (const char *from, const char *to), (from, to))
WHOLE(int, unlink, FILES, 'u', (const char *path), (path))
WHOLE(int, unlinkat, FILES, 'u', (int at, const char *path, int how), (at, path, how))
WHOLE(int, mkdir, FILES | SPACE | GROWTH, 'd', (const char *path, mode_t mode), (path, mode))

/* Its errors are returned. */
#define ROOM(name, type)                                      \
    int name(int file, type at, type size) {                  \
        int what = due(FILES | SPACE | GROWTH, 'a');                   \
        if (what == KILL_BEFORE || what == KILL_HALFWAY) die(); \
        if (what >= FULL) return ENOSPC;                      \
        int result = REAL(name)(file, at, size);              \
        if (what == KILL_AFTER) die();                        \
        return result;                                        \
    }
ROOM(posix_fallocate, off_t)
ROOM(posix_fallocate64, off64_t)

/* Only what makes or empties a file counts. */
#define OPENING(name, parameters, arguments)                  \
    int name parameters {                                     \
        mode_t mode = 0;                                      \
        if (how & (O_CREAT | O_TMPFILE)) {                    \
            va_list rest;                                     \
            va_start(rest, how);                              \
            mode = va_arg(rest, mode_t);                      \
            va_end(rest);                                     \
        }                                                     \
        int changes = (how & (O_CREAT | O_TRUNC)) || (how & O_TMPFILE) == O_TMPFILE; \
        int what = changes ? due(how & O_TRUNC && !(how & O_CREAT) ? FILES : FILES | SPACE | GROWTH, 'o') \
                           : NOTHING;                         \
        if (what == KILL_BEFORE || what == KILL_HALFWAY) die(); \
        if (what >= FULL) { errno = ENOSPC; return -1; }      \
        int result = REAL(name) arguments;                    \
        if (what == KILL_AFTER) die();                        \
        return result;                                        \
    }
OPENING(open, (const char *path, int how, ...), (path, how, mode))
OPENING(open64, (const char *path, int how, ...), (path, how, mode))
OPENING(openat, (int at, const char *path, int how, ...), (at, path, how, mode))
OPENING(openat64, (int at, const char *path, int how, ...), (at, path, how, mode))

/* What was received counts when it is there. */
ssize_t recv(int file, void *to, size_t size, int how) {
    ssize_t result = REAL(recv)(file, to, size, how);
    if (result > 0 && due(SOCKETS, 'g')) die();
    return result;
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int result = REAL(clock_gettime)(which, now);
    if (!result && which == CLOCK_REALTIME && control) now->tv_sec += control->clock;
    return result;
}
