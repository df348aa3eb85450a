// System calls that programs make by number, as Node does.
#include "addresses.h"

extern int bind(int, const union address *, u32);
extern int connect(int, const union address *, u32);
extern ssize readlinkat(int, const char *, char *, size);

// The place of the path among the arguments of a call: 1, 2 after an open folder, 0 if it has none.
static int path_argument(long number) {
  switch (number) {
#ifdef __NR_open
  case __NR_open:
  case __NR_creat:
  case __NR_stat:
  case __NR_lstat:
  case __NR_access:
  case __NR_mkdir:
  case __NR_rmdir:
  case __NR_unlink:
  case __NR_chmod:
  case __NR_chown:
  case __NR_lchown:
#endif
  case __NR_execve:
  case __NR_chdir:
  case __NR_statfs:
  case __NR_truncate:
    return 1;
  case __NR_openat:
#ifdef __NR_openat2
  case __NR_openat2:
#endif
  case __NR_newfstatat:
  case __NR_statx:
  case __NR_faccessat:
#ifdef __NR_faccessat2
  case __NR_faccessat2:
#endif
  case __NR_mkdirat:
  case __NR_unlinkat:
  case __NR_fchmodat:
  case __NR_fchownat:
  case __NR_utimensat:
  case __NR_execveat:
    return 2;
  }
  return 0;
}

EXPORT long syscall(long number, long a, long b, long c, long d, long e, long f) {
  __typeof__(&syscall) next = NEXT(syscall);
  if (number == __NR_bind) return bind((int)a, (void *)b, (u32)c);
  if (number == __NR_connect) return connect((int)a, (void *)b, (u32)c);
  if (settings()->path_count == 0) return next(number, a, b, c, d, e, f);
  if (number == __NR_readlinkat) return readlinkat((int)a, (char *)b, (char *)c, (size)d);
  char buffer[PATH_LENGTH], buffer2[PATH_LENGTH];
  int index = path_argument(number);
  if (index == 1) a = (long)redirect((char *)a, buffer);
  if (index == 2 && ((int)a == AT_FDCWD || (b && *(char *)b == '/'))) b = (long)redirect((char *)b, buffer);
  if (number == __NR_renameat2) {
    if ((int)a == AT_FDCWD || (b && *(char *)b == '/')) b = (long)redirect((char *)b, buffer);
    if ((int)c == AT_FDCWD || (d && *(char *)d == '/')) d = (long)redirect((char *)d, buffer2);
  }
  return next(number, a, b, c, d, e, f);
}
