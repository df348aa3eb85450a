// The loader library: what a process of the runtime host needs of a container's view of files and addresses,
// where the system gives it no name space for them. It works with glibc and musl alike: it takes nothing of
// their headers, and finds the functions behind its own by symbols.c.
#pragma once

#include <asm/unistd.h>
#include <linux/errno.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long size;
typedef long ssize;

#define EXPORT __attribute__((visibility("default")))
#define PATH_LENGTH 4096
#define AT_FDCWD (-100)

// Of the C library.
extern int *__errno_location(void);
extern void *malloc(size);
extern void *memcpy(void *, const void *, size);
extern int memcmp(const void *, const void *, size);
extern void *memset(void *, int, size);
extern size strlen(const char *);

#define ERRNO (*__errno_location())

static inline int failed(int error) {
  ERRNO = error;
  return -1;
}

// A system call; returns the negated error.
static inline long call6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#endif
}
#define CALL3(number, a, b, c) call6(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL5(number, a, b, c, d, e) call6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

// symbols.c: the function that the program would call without this library; null if the C library lacks it.
void *next_symbol(const char *name, void **cache);

// The function behind an interposed one, with the type of that.
#define NEXT(name)                                       \
  ({                                                     \
    static void *cache;                                  \
    (__typeof__(&name))next_symbol(#name, &cache);       \
  })

// settings.c: from the environment in which the process was started.
struct mapping {
  const char *from; // a path of the container
  size from_length;
  const char *to; // the path of the machine in its place
  size to_length;
};

struct settings {
  u32 address;   // of the pod, in network order; 0 with the machine's network
  u32 loopback;  // in place of 127.0.0.1 for this pod
  u32 free_port; // the first port that needs no privilege; 0 if every port is free
  struct mapping *paths; // the longest `from` first
  size path_count;
};
const struct settings *settings(void);

// redirect.c
const char *redirect(const char *path, char *buffer);
size restore(const char *path, char *buffer);

// files.c
int is_executable(const char *path);
