// Functions that return a path, or change the text that they get.
#include "base.h"

// Copies the container's path of `path`, or that itself, without a null byte; returns its length.
static size shown(const char *path, size length, char *buffer) {
  size restored = restore(path, buffer);
  if (restored > 0) return restored;
  memcpy(buffer, path, length);
  return length;
}

static ssize link_text(ssize length, const char *text, char *to, size space) {
  char buffer[PATH_LENGTH];
  if (length < 0) return length;
  size shown_length = shown(text, (size)length, buffer);
  if (shown_length > space) shown_length = space;
  memcpy(to, buffer, shown_length);
  return (ssize)shown_length;
}

#define READLINK(name, parameters, space, ...)                                        \
  EXPORT ssize name parameters {                                                      \
    char buffer[PATH_LENGTH], text[PATH_LENGTH];                                      \
    __typeof__(&name) next = NEXT(name);                                              \
    if (!next) return failed(ENOSYS);                                                 \
    if (settings()->path_count == 0) return next(__VA_ARGS__);                        \
    ssize length = READ;                                                              \
    if (length >= 0) text[length] = 0;                                                \
    return link_text(length, text, to, space);                                        \
  }

#define READ next(redirect(path, buffer), text, PATH_LENGTH - 1)
READLINK(readlink, (const char *path, char *to, size space), space, path, to, space)
#undef READ
#define READ next(redirect(path, buffer), text, PATH_LENGTH - 1, PATH_LENGTH)
READLINK(__readlink_chk, (const char *path, char *to, size space, size object), space, path, to, space, object)
#undef READ
#define READ next(at, at == AT_FDCWD || (path && *path == '/') ? redirect(path, buffer) : path, text, PATH_LENGTH - 1)
READLINK(readlinkat, (int at, const char *path, char *to, size space), space, at, path, to, space)
#undef READ
#define READ next(at, at == AT_FDCWD || (path && *path == '/') ? redirect(path, buffer) : path, text, PATH_LENGTH - 1, PATH_LENGTH)
READLINK(__readlinkat_chk, (int at, const char *path, char *to, size space, size object), space, at, path, to, space, object)

// Copies a text into `to`, or into memory that the caller frees.
static char *given(const char *text, size length, char *to, size space) {
  if (to && length + 1 > space) return ERRNO = ERANGE, (char *)0;
  if (!to) to = malloc(length + 1 > space ? length + 1 : space);
  if (!to) return ERRNO = ENOMEM, (char *)0;
  memcpy(to, text, length);
  to[length] = 0;
  return to;
}

static char *real(const char *path, char *to, char *(*next)(const char *, char *)) {
  char buffer[PATH_LENGTH], result[PATH_LENGTH], text[PATH_LENGTH];
  if (!next(redirect(path, buffer), result)) return 0;
  return given(text, shown(result, strlen(result), text), to, to ? PATH_LENGTH : 0);
}

EXPORT char *realpath(const char *path, char *to) {
  __typeof__(&realpath) next = NEXT(realpath);
  return settings()->path_count == 0 ? next(path, to) : real(path, to, next);
}

EXPORT char *__realpath_chk(const char *path, char *to, size space) {
  (void)space;
  return realpath(path, to);
}

EXPORT char *canonicalize_file_name(const char *path) { return realpath(path, 0); }

EXPORT char *getcwd(char *to, size space) {
  char path[PATH_LENGTH], text[PATH_LENGTH];
  __typeof__(&getcwd) next = NEXT(getcwd);
  if (settings()->path_count == 0 || (to && space == 0)) return next(to, space);
  if (!next(path, PATH_LENGTH)) return 0;
  return given(text, shown(path, strlen(path), text), to, space);
}

EXPORT char *__getcwd_chk(char *to, size space, size object) {
  (void)object;
  return getcwd(to, space);
}

// Templates of temporary files: the C library changes the text, so its end is copied back.
static void filled(char *template, const char *path) {
  size length = strlen(template), made = strlen(path);
  // The last name is the same in both.
  for (size i = 0; i < length && i < made && template[length - 1 - i] != '/'; i++)
    template[length - 1 - i] = path[made - 1 - i];
}

#define TEMPLATE(type, bad, name, parameters, ...)                   \
  EXPORT type name parameters {                                      \
    char buffer[PATH_LENGTH];                                        \
    __typeof__(&name) next = NEXT(name);                             \
    if (!next) return ERRNO = ENOSYS, (type)bad;                     \
    char *path = (char *)redirect(template, buffer);                 \
    type result = next(__VA_ARGS__);                                 \
    if (path != template && result != (type)bad) filled(template, path); \
    return result;                                                   \
  }

TEMPLATE(int, -1, mkstemp, (char *template), path)
TEMPLATE(int, -1, mkstemp64, (char *template), path)
TEMPLATE(int, -1, mkostemp, (char *template, int flags), path, flags)
TEMPLATE(int, -1, mkostemp64, (char *template, int flags), path, flags)
TEMPLATE(int, -1, mkstemps, (char *template, int suffix), path, suffix)
TEMPLATE(int, -1, mkstemps64, (char *template, int suffix), path, suffix)
TEMPLATE(int, -1, mkostemps, (char *template, int suffix, int flags), path, suffix, flags)
TEMPLATE(int, -1, mkostemps64, (char *template, int suffix, int flags), path, suffix, flags)

EXPORT char *mkdtemp(char *template) {
  char buffer[PATH_LENGTH];
  char *path = (char *)redirect(template, buffer);
  if (!NEXT(mkdtemp)(path)) return 0;
  if (path != template) filled(template, path);
  return template;
}

// A library in a volume. Others are loaded as if this function was not there: where they are looked for
// depends on who calls.
EXPORT void *dlopen(const char *path, int flags) {
  __typeof__(&dlopen) next = NEXT(dlopen);
  if (!path || *path != '/' || settings()->path_count == 0) return next(path, flags);
  char buffer[PATH_LENGTH];
  return next(redirect(path, buffer), flags);
}
