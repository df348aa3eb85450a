// Names that the pod's /etc/hosts has. The C library reads the machine's file where no other can be mounted.
#include "base.h"

struct hints {
  int flags, family;
};

#define AF_INET 2
#define AF_INET6 10

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c; }

static int is_name(const char *text, size length, const char *name) {
  size i = 0;
  for (; i < length && name[i]; i++)
    if (lower(text[i]) != lower(name[i])) return 0;
  return i == length && (name[i] == 0 || (name[i] == '.' && name[i + 1] == 0));
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The address of a name in the text of a hosts file, of a family or (0) any.
static int find(const char *text, size length, const char *name, int family, char *address) {
  for (size at = 0; at < length;) {
    size end = at, word = at, first = 0;
    while (end < length && text[end] != '\n') end++;
    for (size stop = at; stop < end && text[stop] != '#';) {
      while (stop < end && is_blank(text[stop])) stop++;
      word = stop;
      while (stop < end && !is_blank(text[stop]) && text[stop] != '#') stop++;
      if (stop == word) break;
      if (first == 0) {
        first = stop - word;
        at = word;
        int is6 = 0;
        for (size i = word; i < stop; i++) is6 |= text[i] == ':';
        if (first > 63 || (family != 0 && family != (is6 ? AF_INET6 : AF_INET))) break;
      } else if (is_name(text + word, stop - word, name)) {
        memcpy(address, text + at, first);
        address[first] = 0;
        return 1;
      }
    }
    at = end + 1;
  }
  return 0;
}

// The address of a name as text in `address`, or the name itself.
static const char *looked_up(const char *name, int family, char *address) {
  char buffer[PATH_LENGTH];
  if (!name || !*name || settings()->path_count == 0) return name;
  const char *path = redirect("/etc/hosts", buffer);
  if (path != buffer) return name;
  long file = CALL3(__NR_openat, AT_FDCWD, path, 02000000);
  if (file < 0) return name;
  long length = CALL3(__NR_lseek, file, 0, 2);
  long text = length > 0 ? call6(__NR_mmap, 0, length, 1, 2, file, 0) : -1;
  CALL3(__NR_close, file, 0, 0);
  if (text < 0 && text > -4096) return name;
  int found = find((const char *)text, (size)length, name, family, address);
  CALL3(__NR_munmap, text, length, 0);
  return found ? address : name;
}

EXPORT int getaddrinfo(const char *name, const char *service, const struct hints *hints, void *result) {
  char address[64];
  int family = hints ? hints->family : 0;
  return NEXT(getaddrinfo)(looked_up(name, family, address), service, hints, result);
}

EXPORT void *gethostbyname(const char *name) {
  char address[64];
  return NEXT(gethostbyname)(looked_up(name, AF_INET, address));
}

EXPORT void *gethostbyname2(const char *name, int family) {
  char address[64];
  return NEXT(gethostbyname2)(looked_up(name, family, address), family);
}

EXPORT int gethostbyname_r(const char *name, void *result, char *buffer, size length, void *found, int *error) {
  char address[64];
  return NEXT(gethostbyname_r)(looked_up(name, AF_INET, address), result, buffer, length, found, error);
}

EXPORT int gethostbyname2_r(const char *name, int family, void *result, char *buffer, size length, void *found, int *error) {
  char address[64];
  return NEXT(gethostbyname2_r)(looked_up(name, family, address), family, result, buffer, length, found, error);
}
