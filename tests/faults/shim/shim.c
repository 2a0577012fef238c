/* Faults at the k-th file operation under one folder, and a log of these operations: loaded with LD_PRELOAD.

   An operation is what changes a file system or makes a change durable. Every function here does what the system call of
   its name does, by that call, unless the fault strikes. Nothing is counted before arm(). */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum fault { NOTHING, KILL_BEFORE, KILL_AFTER, KILL_TORN, FAIL_ONCE, FAIL_FROM, SHORT };
enum verdict { DO, FAIL, HALF };

static char root[PATH_MAX], kinds[32];
static enum fault fault;
static long counted, target;
static int failing, log_descriptor = -1;

void arm(const char *folder, int how, long at, int error, const char *which, int log) {
    snprintf(root, sizeof root, "%s/", folder);
    snprintf(kinds, sizeof kinds, "%s", which);
    fault = how, target = at, failing = error, log_descriptor = log, counted = 0;
}

/* Space is back, the cable is in again: no fault any more. */
void calm(void) { fault = NOTHING; }

static void die(void) { kill(getpid(), SIGKILL); }

static void put(const void *data, size_t size) {
    if (syscall(SYS_write, log_descriptor, data, size) != (long)size) die();
}

static void tell(char kind, const char *path, const char *other, int64_t offset, const void *data, size_t size) {
    if (log_descriptor < 0) return;
    struct { uint32_t kind, path, other, size; int64_t offset; } head = {kind, strlen(path), strlen(other), size, offset};
    put(&head, sizeof head), put(path, head.path), put(other, head.other), put(data, size);
}

/* What the program tells about itself stands in the log among its operations. */
void note(const char *text) { tell('n', text, "", 0, "", 0); }

static enum verdict strike(char kind, const char *path) {
    counted++;
    if (fault == NOTHING || counted < target || (counted > target && fault != FAIL_FROM)) return DO;
    if (fault == KILL_BEFORE) die();
    if ((fault == FAIL_ONCE || fault == FAIL_FROM) && strchr(kinds, kind)) {
        tell('x', path, "", kind, "", 0);
        errno = failing;
        return FAIL;
    }
    return fault == KILL_TORN || fault == SHORT ? HALF : DO;
}

/* An operation that failed is told as 'x', with its kind as the offset; it was counted as any. */
static long done(long result, char kind, const char *path, const char *other, int64_t offset, const void *data) {
    if (result < 0) tell('x', path, other, kind, "", 0);
    else tell(kind, path, other, offset, data, kind == 'w' ? (size_t)result : 0);
    if (counted == target && (fault == KILL_AFTER || fault == KILL_TORN)) die();
    return result;
}

static int inside(const char *path) { return root[0] && !strncmp(path, root, strlen(root)); }

static int inside_descriptor(int descriptor, char path[PATH_MAX]) {
    char link[64];
    if (!root[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 2);
    if (length < 0) return 0;
    path[length] = '\0';
    if (inside(path)) return 1;
    strcat(path, "/"); /* the folder itself */
    int same = inside(path);
    path[length] = '\0';
    return same;
}

#define STRIKE(kind, path) enum verdict verdict = strike(kind, path); if (verdict == FAIL) return -1

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    char path[PATH_MAX];
    if (!inside_descriptor(descriptor, path)) return syscall(SYS_pwrite64, descriptor, data, size, offset);
    STRIKE('w', path);
    if (verdict == HALF) size = (size + 1) / 2;
    return done(syscall(SYS_pwrite64, descriptor, data, size, offset), 'w', path, "", offset, data);
}
ssize_t pwrite64(int, const void *, size_t, off64_t) __attribute__((alias("pwrite")));

ssize_t write(int descriptor, const void *data, size_t size) {
    char path[PATH_MAX];
    if (!inside_descriptor(descriptor, path)) return syscall(SYS_write, descriptor, data, size);
    int appends = fcntl(descriptor, F_GETFL) & O_APPEND;
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    struct stat now;
    if (appends && !fstat(descriptor, &now)) offset = now.st_size;
    STRIKE('w', path);
    if (verdict == HALF) size = (size + 1) / 2;
    return done(syscall(SYS_write, descriptor, data, size), 'w', path, "", offset, data);
}

/* Python's shutil then copies with read and write. */
ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    char path[PATH_MAX];
    if (!inside_descriptor(out, path)) return syscall(SYS_sendfile, out, in, offset, size);
    errno = ENOTSOCK;
    return -1;
}
ssize_t sendfile64(int, int, off64_t *, size_t) __attribute__((alias("sendfile")));

static int synced(int descriptor, long call) {
    char path[PATH_MAX];
    if (!inside_descriptor(descriptor, path)) return syscall(call, descriptor);
    STRIKE('s', path);
    return done(syscall(call, descriptor), 's', path, "", 0, "");
}
int fsync(int descriptor) { return synced(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return synced(descriptor, SYS_fdatasync); }

int ftruncate(int descriptor, off_t size) {
    char path[PATH_MAX];
    if (!inside_descriptor(descriptor, path)) return syscall(SYS_ftruncate, descriptor, size);
    STRIKE('t', path);
    return done(syscall(SYS_ftruncate, descriptor, size), 't', path, "", size, "");
}
int ftruncate64(int, off64_t) __attribute__((alias("ftruncate")));

static int opened(int folder, const char *path, int flags, mode_t mode) {
    int there = inside(path) && !faccessat(AT_FDCWD, path, F_OK, 0);
    char kind = !inside(path) ? 0 : (flags & O_CREAT) && !there ? 'c' : (flags & O_TRUNC) && there ? 't' : 0;
    if (!kind) return syscall(SYS_openat, folder, path, flags, mode);
    STRIKE(kind, path);
    return done(syscall(SYS_openat, folder, path, flags, mode), kind, path, "", 0, "");
}
#define MODE(flags) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *, int, ...) __attribute__((alias("open")));
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return opened(folder, path, flags, mode); }
int openat64(int, const char *, int, ...) __attribute__((alias("openat")));

#define ON_A_NAME(kind, path, other, call) \
    if (!inside(path)) return call; \
    STRIKE(kind, path); \
    return done(call, kind, path, other, 0, "")

int renameat(int from, const char *old, int to, const char *new) {
    ON_A_NAME('r', old, new, syscall(SYS_renameat2, from, old, to, new, 0));
}
int rename(const char *old, const char *new) { return renameat(AT_FDCWD, old, AT_FDCWD, new); }

int linkat(int from, const char *old, int to, const char *new, int flags) {
    ON_A_NAME('l', old, new, syscall(SYS_linkat, from, old, to, new, flags));
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

int unlinkat(int folder, const char *path, int flags) {
    ON_A_NAME('u', path, "", syscall(SYS_unlinkat, folder, path, flags));
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t mode) {
    ON_A_NAME('m', path, "", syscall(SYS_mkdirat, folder, path, mode));
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
