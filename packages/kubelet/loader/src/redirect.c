// Paths of volumes, which are elsewhere on the machine.
#include "base.h"

// Writes an absolute path without `//`, `.` and `..`; returns its length, or 0 if it is too long.
static size normal(const char *path, char *buffer) {
  size length = 0;
  while (*path) {
    while (*path == '/') path++;
    size name = 0;
    while (path[name] && path[name] != '/') name++;
    if (name == 0 || (name == 1 && path[0] == '.')) {
    } else if (name == 2 && path[0] == '.' && path[1] == '.') {
      while (length > 0 && buffer[--length] != '/') {
      }
    } else {
      if (length + name + 2 >= PATH_LENGTH) return 0;
      buffer[length++] = '/';
      memcpy(buffer + length, path, name);
      length += name;
    }
    path += name;
  }
  buffer[length] = 0;
  return length;
}

static int is_below(const char *path, size length, const char *folder, size folder_length) {
  return length >= folder_length && !memcmp(path, folder, folder_length) &&
         (length == folder_length || path[folder_length] == '/');
}

static size join(const char *folder, size folder_length, const char *rest, size rest_length, char *buffer) {
  if (folder_length + rest_length + 2 >= PATH_LENGTH) return 0;
  // `rest` may lie in `buffer`.
  char copy[PATH_LENGTH];
  memcpy(copy, rest, rest_length);
  memcpy(buffer, folder, folder_length);
  memcpy(buffer + folder_length, copy, rest_length);
  buffer[folder_length + rest_length] = 0;
  return folder_length + rest_length;
}

// The path on the machine of a path of the container: `buffer`, or `path` itself if nothing is mounted there.
const char *redirect(const char *path, char *buffer) {
  const struct settings *now = settings();
  if (now->path_count == 0 || path == 0 || *path == 0) return path;
  size length, given = strlen(path);
  if (given >= PATH_LENGTH) return path;
  if (*path == '/') length = normal(path, buffer);
  else {
    char whole[2 * PATH_LENGTH];
    long folder = CALL3(__NR_getcwd, whole, PATH_LENGTH, 0);
    if (folder <= 0 || whole[0] != '/') return path;
    whole[folder - 1] = '/';
    memcpy(whole + folder, path, given + 1);
    length = normal(whole, buffer);
  }
  if (length == 0) return path;
  for (size i = 0; i < now->path_count; i++) {
    const struct mapping *one = &now->paths[i];
    if (!is_below(buffer, length, one->from, one->from_length)) continue;
    length = join(one->to, one->to_length, buffer + one->from_length, length - one->from_length, buffer);
    if (length == 0) return path;
    // A link to a folder is followed only then.
    if (path[given - 1] == '/') buffer[length++] = '/', buffer[length] = 0;
    return buffer;
  }
  return path;
}

// The container's path of a path of the machine; returns its length, or 0 if it is not of a volume.
size restore(const char *path, char *buffer) {
  const struct settings *now = settings();
  const struct mapping *best = 0;
  size length = now->path_count == 0 ? 0 : strlen(path);
  for (size i = 0; length > 0 && i < now->path_count; i++) {
    const struct mapping *one = &now->paths[i];
    if (is_below(path, length, one->to, one->to_length) && (!best || one->to_length > best->to_length)) best = one;
  }
  if (!best) return 0;
  return join(best->from, best->from_length, path + best->to_length, length - best->to_length, buffer);
}
