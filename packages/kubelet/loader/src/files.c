// Functions that take a path. All else is handed on as it came: further arguments travel in registers, whether
// a function has a fixed number of them or not.
#include "base.h"

// A function with a path first. `missing` is its result where the C library lacks it.
#define WITH_PATH(type, missing, name, parameters, ...)              \
  EXPORT type name parameters {                                      \
    char buffer[PATH_LENGTH];                                        \
    __typeof__(&name) next = NEXT(name);                             \
    if (!next) return ERRNO = ENOSYS, (type)missing;                 \
    return next(__VA_ARGS__);                                        \
  }
#define HERE redirect(path, buffer)

#define PATH(name, parameters, ...) WITH_PATH(int, -1, name, parameters, __VA_ARGS__)
#define PATH_POINTER(name, parameters, ...) WITH_PATH(void *, 0, name, parameters, __VA_ARGS__)

PATH(open, (const char *path, int flags, int mode), HERE, flags, mode)
PATH(open64, (const char *path, int flags, int mode), HERE, flags, mode)
PATH(__open_2, (const char *path, int flags), HERE, flags)
PATH(__open64_2, (const char *path, int flags), HERE, flags)
PATH(creat, (const char *path, int mode), HERE, mode)
PATH(creat64, (const char *path, int mode), HERE, mode)
PATH_POINTER(fopen, (const char *path, const char *mode), HERE, mode)
PATH_POINTER(fopen64, (const char *path, const char *mode), HERE, mode)
PATH_POINTER(freopen, (const char *path, const char *mode, void *file), HERE, mode, file)
PATH_POINTER(freopen64, (const char *path, const char *mode, void *file), HERE, mode, file)
PATH_POINTER(opendir, (const char *path), HERE)
PATH(scandir, (const char *path, void *list, void *filter, void *order), HERE, list, filter, order)
PATH(scandir64, (const char *path, void *list, void *filter, void *order), HERE, list, filter, order)

PATH(stat, (const char *path, void *result), HERE, result)
PATH(stat64, (const char *path, void *result), HERE, result)
PATH(lstat, (const char *path, void *result), HERE, result)
PATH(lstat64, (const char *path, void *result), HERE, result)
PATH(__xstat, (int version, const char *path, void *result), version, HERE, result)
PATH(__xstat64, (int version, const char *path, void *result), version, HERE, result)
PATH(__lxstat, (int version, const char *path, void *result), version, HERE, result)
PATH(__lxstat64, (int version, const char *path, void *result), version, HERE, result)
PATH(access, (const char *path, int mode), HERE, mode)
PATH(eaccess, (const char *path, int mode), HERE, mode)
PATH(euidaccess, (const char *path, int mode), HERE, mode)
PATH(statfs, (const char *path, void *result), HERE, result)
PATH(statfs64, (const char *path, void *result), HERE, result)
PATH(statvfs, (const char *path, void *result), HERE, result)
PATH(statvfs64, (const char *path, void *result), HERE, result)
WITH_PATH(long, -1, pathconf, (const char *path, int name), HERE, name)

PATH(mkdir, (const char *path, int mode), HERE, mode)
PATH(rmdir, (const char *path), HERE)
PATH(unlink, (const char *path), HERE)
PATH(remove, (const char *path), HERE)
PATH(chmod, (const char *path, int mode), HERE, mode)
PATH(chown, (const char *path, int user, int group), HERE, user, group)
PATH(lchown, (const char *path, int user, int group), HERE, user, group)
PATH(truncate, (const char *path, long length), HERE, length)
PATH(truncate64, (const char *path, long length), HERE, length)
PATH(utime, (const char *path, void *times), HERE, times)
PATH(utimes, (const char *path, void *times), HERE, times)
PATH(lutimes, (const char *path, void *times), HERE, times)
PATH(mknod, (const char *path, int mode, long device), HERE, mode, device)
PATH(mkfifo, (const char *path, int mode), HERE, mode)
PATH(chdir, (const char *path), HERE)
PATH(inotify_add_watch, (int file, const char *path, int mask), file, HERE, mask)
WITH_PATH(ssize, -1, getxattr, (const char *path, void *name, void *to, size length), HERE, name, to, length)
WITH_PATH(ssize, -1, lgetxattr, (const char *path, void *name, void *to, size length), HERE, name, to, length)
WITH_PATH(ssize, -1, listxattr, (const char *path, void *to, size length), HERE, to, length)
WITH_PATH(ssize, -1, llistxattr, (const char *path, void *to, size length), HERE, to, length)
PATH(setxattr, (const char *path, void *name, void *value, size length, int flags), HERE, name, value, length, flags)
PATH(lsetxattr, (const char *path, void *name, void *value, size length, int flags), HERE, name, value, length, flags)

// A path at an open folder.
#define AT (at == AT_FDCWD || (path && *path == '/') ? HERE : path)

PATH(openat, (int at, const char *path, int flags, int mode), at, AT, flags, mode)
PATH(openat64, (int at, const char *path, int flags, int mode), at, AT, flags, mode)
PATH(__openat_2, (int at, const char *path, int flags), at, AT, flags)
PATH(__openat64_2, (int at, const char *path, int flags), at, AT, flags)
PATH(fstatat, (int at, const char *path, void *result, int flags), at, AT, result, flags)
PATH(fstatat64, (int at, const char *path, void *result, int flags), at, AT, result, flags)
PATH(__fxstatat, (int version, int at, const char *path, void *result, int flags), version, at, AT, result, flags)
PATH(__fxstatat64, (int version, int at, const char *path, void *result, int flags), version, at, AT, result, flags)
PATH(statx, (int at, const char *path, int flags, u32 mask, void *result), at, AT, flags, mask, result)
PATH(faccessat, (int at, const char *path, int mode, int flags), at, AT, mode, flags)
PATH(mkdirat, (int at, const char *path, int mode), at, AT, mode)
PATH(unlinkat, (int at, const char *path, int flags), at, AT, flags)
PATH(fchmodat, (int at, const char *path, int mode, int flags), at, AT, mode, flags)
PATH(fchownat, (int at, const char *path, int user, int group, int flags), at, AT, user, group, flags)
PATH(utimensat, (int at, const char *path, void *times, int flags), at, AT, times, flags)
PATH(futimesat, (int at, const char *path, void *times), at, AT, times)
PATH(mknodat, (int at, const char *path, int mode, long device), at, AT, mode, device)
PATH(mkfifoat, (int at, const char *path, int mode), at, AT, mode)

// Two paths.
#define HERE_TOO redirect(other, buffer2)
#define AT_TOO (at2 == AT_FDCWD || (other && *other == '/') ? HERE_TOO : other)
#define PATHS(name, parameters, ...)                                 \
  EXPORT int name parameters {                                       \
    char buffer[PATH_LENGTH], buffer2[PATH_LENGTH];                  \
    __typeof__(&name) next = NEXT(name);                             \
    return next ? next(__VA_ARGS__) : failed(ENOSYS);                \
  }

PATHS(rename, (const char *path, const char *other), HERE, HERE_TOO)
PATHS(link, (const char *path, const char *other), HERE, HERE_TOO)
PATHS(renameat, (int at, const char *path, int at2, const char *other), at, AT, at2, AT_TOO)
PATHS(renameat2, (int at, const char *path, int at2, const char *other, u32 flags), at, AT, at2, AT_TOO, flags)
PATHS(linkat, (int at, const char *path, int at2, const char *other, int flags), at, AT, at2, AT_TOO, flags)

// The kernel follows a link: its target is the machine's path. Relative ones stay.
static const char *target(const char *text, char *buffer) {
  return text && *text == '/' ? redirect(text, buffer) : text;
}
PATHS(symlink, (const char *path, const char *other), target(path, buffer), HERE_TOO)
PATHS(symlinkat, (const char *path, int at2, const char *other), target(path, buffer), at2, AT_TOO)

int is_executable(const char *path) { return CALL3(__NR_faccessat, AT_FDCWD, path, 1) == 0; }
