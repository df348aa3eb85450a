// Functions that start programs.
#include "base.h"

typedef char *const *words;
extern char **environ __attribute__((weak));

EXPORT int execve(const char *path, words arguments, words environment) {
  char buffer[PATH_LENGTH];
  return NEXT(execve)(redirect(path, buffer), arguments, environment);
}

EXPORT int execv(const char *path, words arguments) {
  char buffer[PATH_LENGTH];
  return NEXT(execv)(redirect(path, buffer), arguments);
}

EXPORT int execveat(int at, const char *path, words arguments, words environment, int flags) {
  char buffer[PATH_LENGTH];
  __typeof__(&execveat) next = NEXT(execveat);
  if (!next) return failed(ENOSYS);
  const char *there = at == AT_FDCWD || (path && *path == '/') ? redirect(path, buffer) : path;
  return next(at, there, arguments, environment, flags);
}

// The program in a volume that a name leads to, or the name itself: PATH may name folders of volumes.
static const char *searched(const char *name, char *buffer) {
  if (settings()->path_count == 0 || !name || !*name) return name;
  size length = strlen(name);
  for (const char *at = name; *at; at++)
    if (*at == '/') return redirect(name, buffer);
  const char *list = 0;
  for (char **at = environ; at && *at; at++)
    if ((*at)[0] == 'P' && (*at)[1] == 'A' && (*at)[2] == 'T' && (*at)[3] == 'H' && (*at)[4] == '=') list = *at + 5;
  while (list && *list) {
    char path[PATH_LENGTH];
    size folder = 0;
    while (list[folder] && list[folder] != ':') folder++;
    if (folder > 0 && folder + length + 2 < PATH_LENGTH) {
      memcpy(path, list, folder);
      path[folder] = '/';
      memcpy(path + folder + 1, name, length + 1);
      const char *found = redirect(path, buffer);
      if (is_executable(found)) return found == path ? name : found;
    }
    list += folder + (list[folder] != 0);
  }
  return name;
}

EXPORT int execvp(const char *name, words arguments) {
  char buffer[PATH_LENGTH];
  return NEXT(execvp)(searched(name, buffer), arguments);
}

EXPORT int execvpe(const char *name, words arguments, words environment) {
  char buffer[PATH_LENGTH];
  return NEXT(execvpe)(searched(name, buffer), arguments, environment);
}

EXPORT int posix_spawn(void *pid, const char *path, void *actions, void *attributes, words arguments, words environment) {
  char buffer[PATH_LENGTH];
  return NEXT(posix_spawn)(pid, redirect(path, buffer), actions, attributes, arguments, environment);
}

EXPORT int posix_spawnp(void *pid, const char *name, void *actions, void *attributes, words arguments, words environment) {
  char buffer[PATH_LENGTH];
  return NEXT(posix_spawnp)(pid, searched(name, buffer), actions, attributes, arguments, environment);
}

EXPORT int posix_spawn_file_actions_addopen(void *actions, int file, const char *path, int flags, int mode) {
  char buffer[PATH_LENGTH];
  return NEXT(posix_spawn_file_actions_addopen)(actions, file, redirect(path, buffer), flags, mode);
}

// Words up to a null pointer, of which the first has been read.
#define COUNT_WORDS(list, first)                                     \
  __builtin_va_list list;                                            \
  size count = 1;                                                    \
  __builtin_va_start(list, first);                                   \
  while (first && __builtin_va_arg(list, char *)) count++;           \
  __builtin_va_end(list);                                            \
  char *arguments[count + 1];                                        \
  arguments[0] = (char *)first;                                      \
  __builtin_va_start(list, first);                                   \
  for (size i = 1; i <= count; i++) arguments[i] = __builtin_va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...) {
  COUNT_WORDS(list, first);
  __builtin_va_end(list);
  return execv(path, arguments);
}

EXPORT int execlp(const char *name, const char *first, ...) {
  COUNT_WORDS(list, first);
  __builtin_va_end(list);
  return execvp(name, arguments);
}

EXPORT int execle(const char *path, const char *first, ...) {
  COUNT_WORDS(list, first);
  words environment = __builtin_va_arg(list, words);
  __builtin_va_end(list);
  return execve(path, arguments, environment);
}
