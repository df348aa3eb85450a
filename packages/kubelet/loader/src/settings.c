#include "base.h"

static struct settings now;
static int ready;

extern char **environ __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

// memcmp may read beyond the end of a short text.
static int starts(const char *text, const char *with) {
  while (*with && *text == *with) text++, with++;
  return *with == 0;
}

static const char *variable(char **environment, const char *name) {
  size length = strlen(name);
  for (; environment && *environment; environment++)
    if (starts(*environment, name) && (*environment)[length] == '=') return *environment + length + 1;
  return 0;
}

// The text after `key=` in a list of words.
static const char *word(const char *text, const char *key) {
  size length = strlen(key);
  while (text && *text) {
    size end = 0;
    while (text[end] && text[end] != ' ') end++;
    if (starts(text, key) && text[length] == '=') return text + length + 1;
    text += text[end] ? end + 1 : end;
  }
  return 0;
}

static u32 number(const char **text) {
  u32 value = 0;
  for (; **text >= '0' && **text <= '9'; (*text)++) value = value * 10 + (u32)(**text - '0');
  return value;
}

static u32 address_of(const char *text) {
  u8 bytes[4];
  u32 result;
  if (!text) return 0;
  for (int i = 0; i < 4; i++) {
    bytes[i] = (u8)number(&text);
    if (*text == '.') text++;
  }
  memcpy(&result, bytes, 4);
  return result;
}

static int digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

// Copies a percent-encoded word up to ':', '=' or the end; returns the character after it.
static const char *decoded(const char *text, char **to) {
  while (*text && *text != ':' && *text != '=') {
    if (*text == '%' && text[1] && text[2]) {
      *(*to)++ = (char)(digit(text[1]) * 16 + digit(text[2]));
      text += 3;
    } else *(*to)++ = *text++;
  }
  *(*to)++ = 0;
  return text;
}

// `from=to:from=to`, in memory of our own: the allocator may not work yet.
static void read_paths(const char *text) {
  size length = strlen(text), count = 1;
  for (const char *at = text; *at; at++) count += *at == ':';
  size bytes = count * sizeof(struct mapping) + length + count + 1;
  long memory = call6(__NR_mmap, 0, (long)bytes, 3, 0x22, -1, 0);
  if (memory < 0 && memory > -4096) return;
  struct mapping *paths = (void *)memory;
  char *to = (char *)(paths + count);
  count = 0;
  while (*text) {
    struct mapping one;
    one.from = to;
    text = decoded(text, &to);
    one.from_length = (size)(to - 1 - one.from);
    if (*text == '=') text++;
    one.to = to;
    text = decoded(text, &to);
    one.to_length = (size)(to - 1 - one.to);
    if (*text) text++;
    paths[count++] = one;
  }
  now.paths = paths;
  now.path_count = count;
}

static void read_settings(char **environment) {
  const char *words = variable(environment, "DRAY_LOADER");
  const char *paths = variable(environment, "DRAY_LOADER_PATHS");
  const char *ports = word(words, "ports");
  now.address = address_of(word(words, "address"));
  now.loopback = address_of(word(words, "loopback"));
  if (ports) now.free_port = number(&ports);
  if (paths) read_paths(paths);
  ready = 1;
}

// Before it, functions of libraries may have run already. glibc passes its arguments, and may not have
// `environ` yet; musl passes none, but has `environ`.
__attribute__((constructor)) static void begin(int count, char **arguments, char **environment) {
  (void)count, (void)arguments;
  if (!ready) read_settings(gnu_get_libc_version ? environment : environ);
}

const struct settings *settings(void) {
  if (!ready && &environ && environ) read_settings(environ);
  return &now;
}
