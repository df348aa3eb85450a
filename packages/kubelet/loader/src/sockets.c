// A pod has addresses of its own, in the network of the machine: what it opens on all addresses is opened on
// its address, what it opens on 127.0.0.1 on its loopback address, so that pods do not meet. Ports that need a
// privilege are others.
#include "source.h"

#define SO_SNDTIMEO 21
#define O_NONBLOCK 04000
#define F_GETFL 3
#define F_SETFL 4

struct local_name {
  union address address;
  u32 length;
  int folder; // open as long as the name is used
};

// The name of a socket in a volume. A longer path than a name may have goes by an open folder.
static int rename_local(const union address *given, u32 length, struct local_name *name) {
  char path[sizeof given->local.path + 1], buffer[PATH_LENGTH];
  size size_of_path = length - 2;
  name->folder = -1;
  if (settings()->path_count == 0 || given->family != AF_UNIX || length <= 2) return 0;
  if (size_of_path > sizeof given->local.path || given->local.path[0] == 0) return 0;
  memcpy(path, given->local.path, size_of_path);
  path[size_of_path] = 0;
  const char *there = redirect(path, buffer);
  if (there == path) return 0;
  size there_length = strlen(there);
  name->address.family = AF_UNIX;
  char *to = name->address.local.path;
  if (there_length < 108) {
    memcpy(to, there, there_length + 1);
    name->length = (u32)(2 + there_length + 1);
    return 1;
  }
  size slash = there_length;
  while (there[slash - 1] != '/') slash--;
  buffer[slash - 1] = 0;
  name->folder = (int)call6(__NR_openat, AT_FDCWD, (long)buffer, 010000000 | 02000000, 0, 0, 0);
  if (name->folder < 0 || there_length - slash > 70) return 0;
  static const char prefix[] = "/proc/self/fd/";
  memcpy(to, prefix, sizeof prefix - 1);
  to += sizeof prefix - 1;
  char digits[12];
  int count = 0;
  for (int rest = name->folder; rest > 0 || count == 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
  while (count > 0) *to++ = digits[--count];
  *to++ = '/';
  memcpy(to, there + slash, there_length - slash + 1);
  name->length = (u32)(to + (there_length - slash) + 1 - (char *)&name->address);
  return 1;
}

static void close_folder(const struct local_name *name) {
  if (name->folder >= 0) CALL3(__NR_close, name->folder, 0, 0);
}

// Opens an address and a port that no other pod uses. A pod has no IPv6 address: a socket for IPv6 alone, as
// programs open beside one for IPv4, gets a port that nobody else has.
EXPORT int bind(int file, const union address *given, u32 length) {
  __typeof__(&bind) next = NEXT(bind);
  const struct settings *now = settings();
  struct local_name name;
  if (!given || length < 3) return next(file, given, length);
  if (rename_local(given, length, &name)) {
    int result = next(file, &name.address, name.length);
    int error = ERRNO;
    close_folder(&name);
    ERRNO = error;
    return result;
  }
  if (!is_inet(given, length) || length > sizeof(union address)) return next(file, given, length);
  union address address;
  memcpy(&address, given, length);
  u16 port = port_of(&address);
  enum place place = place_of(&address, length);
  if (port == 0) return next(file, given, length);
  set_port(&address, served_port(port));
  if (now->address && (place == everywhere || place == loopback)) {
    if (address.family == AF_INET6 && socket_option(file, IPPROTO_IPV6, IPV6_V6ONLY) == 1) {
      memset(address.v6.address, 0, 16);
      address.v6.address[3] = 0x01000000;
      set_port(&address, 0);
    } else set_host(&address, place == everywhere ? now->address : now->loopback);
  }
  return next(file, &address, length);
}

// Addresses at which what a program connects to may be, the likeliest first; the last is the one that it named.
static int candidates(const union address *given, u32 length, union address *list) {
  const struct settings *now = settings();
  enum place place = place_of(given, length);
  int count = 0;
  if (place == elsewhere || length > sizeof *list) return 0;
  u16 port = port_of(given), served = served_port(port);
  if (port == 0) return 0;
  if (place != cluster && now->address) {
    u32 hosts[2] = {now->loopback, now->address};
    for (int i = 0; i < 2; i++) {
      memcpy(&list[count], given, length);
      set_host(&list[count], hosts[i]);
      set_port(&list[count++], served);
    }
  }
  if (served != port) {
    memcpy(&list[count], given, length);
    set_port(&list[count++], served);
  }
  memcpy(&list[count++], given, length);
  return count;
}

// Something receives datagrams there: another socket cannot be bound to the address.
static int receives(const union address *address, u32 length) {
  long file = CALL3(__NR_socket, address->family, SOCK_DGRAM | 02000000, 0);
  if (file < 0) return 0;
  long result = CALL3(__NR_bind, file, address, length);
  CALL3(__NR_close, file, 0, 0);
  return result == -EADDRINUSE;
}

// The address to which a datagram goes: `address`, or what the program named.
static const union address *destination(const union address *given, u32 length, union address *address) {
  union address list[4];
  int count = given ? candidates(given, length, list) : 0;
  for (int i = 0; i + 1 < count; i++)
    if (receives(&list[i], length)) {
      memcpy(address, &list[i], length);
      return address;
    }
  return given;
}

// Connects as with a socket that waits, but for a moment only: on this machine a connection is made or refused
// at once.
static int try_connect(int file, const union address *address, u32 length, int (*next)(int, const union address *, u32)) {
  long moment[2] = {0, 50000}, before[2] = {0, 0};
  u32 size_of_time = sizeof before;
  long flags = CALL3(__NR_fcntl, file, F_GETFL, 0);
  CALL5(__NR_getsockopt, file, SOL_SOCKET, SO_SNDTIMEO, before, &size_of_time);
  CALL5(__NR_setsockopt, file, SOL_SOCKET, SO_SNDTIMEO, moment, sizeof moment);
  if (flags & O_NONBLOCK) CALL3(__NR_fcntl, file, F_SETFL, flags & ~O_NONBLOCK);
  int result = next(file, address, length), error = ERRNO;
  if (flags & O_NONBLOCK) CALL3(__NR_fcntl, file, F_SETFL, flags);
  CALL5(__NR_setsockopt, file, SOL_SOCKET, SO_SNDTIMEO, before, sizeof before);
  // The queue of the listener is full: go on waiting, if the program would.
  if (result < 0 && error == EINPROGRESS && !(flags & O_NONBLOCK)) return next(file, address, length);
  ERRNO = error;
  return result;
}

EXPORT int connect(int file, const union address *given, u32 length) {
  __typeof__(&connect) next = NEXT(connect);
  struct local_name name;
  union address list[4];
  if (!given || length < 3) return next(file, given, length);
  if (rename_local(given, length, &name)) {
    int result = next(file, &name.address, name.length);
    int error = ERRNO;
    close_folder(&name);
    ERRNO = error;
    return result;
  }
  if (!is_inet(given, length)) return next(file, given, length);
  int type = socket_option(file, SOL_SOCKET, SO_TYPE);
  if (type == SOCK_DGRAM) {
    union address address;
    const union address *to = destination(given, length, &address);
    if (host_of(to) == host_of(given)) bind_source(file, given, length);
    int result = next(file, to, length);
    return result < 0 && ERRNO == EINVAL && release_source(file, given, length) ? next(file, to, length) : result;
  }
  if (type != SOCK_STREAM) return next(file, given, length);
  int count = candidates(given, length, list);
  for (int i = 0; i + 1 < count; i++) {
    // Within the pod, the source of 127.0.0.1 is 127.0.0.1.
    if (host_of(&list[i]) == host_of(given)) bind_source(file, given, length);
    int result = try_connect(file, &list[i], length, next);
    if (result == 0 || ERRNO == EINPROGRESS || ERRNO == EINTR) return result;
    disconnect(file);
  }
  bind_source(file, given, length);
  return next(file, given, length);
}

// Sets where a message goes, and its source; `address` and `control` hold what the message then refers to.
static void direct(int file, struct message *message, union address *address, struct control *control) {
  union address *given = message->name;
  message->name = (union address *)destination(given, message->name_length, address);
  if (given && is_inet(given, message->name_length) && host_of(message->name) == host_of(given))
    add_source(file, message, control);
}

EXPORT ssize sendmsg(int file, const struct message *given, int flags) {
  union address address;
  struct control control;
  struct message message = *given;
  direct(file, &message, &address, &control);
  return NEXT(sendmsg)(file, &message, flags);
}

EXPORT ssize sendto(int file, const void *data, size length, int flags, const union address *to, u32 to_length) {
  union address address;
  struct control control;
  struct part part = {data, length};
  struct message message = {(union address *)to, to_length, &part, 1, 0, 0, 0};
  direct(file, &message, &address, &control);
  return message.control ? NEXT(sendmsg)(file, &message, flags)
                         : NEXT(sendto)(file, data, length, flags, message.name, to_length);
}

struct messages {
  struct message message;
  u32 length;
};

EXPORT int sendmmsg(int file, struct messages *list, u32 count, int flags) {
  __typeof__(&sendmmsg) next = NEXT(sendmmsg);
  u32 sent = 0;
  if (!next) return failed(ENOSYS);
  if (!settings()->address && !settings()->free_port) return next(file, list, count, flags);
  for (; sent < count; sent++) {
    union address address;
    struct control control;
    struct message given = list[sent].message;
    direct(file, &list[sent].message, &address, &control);
    int result = next(file, list + sent, 1, flags);
    list[sent].message = given;
    if (result < 1) return sent > 0 ? (int)sent : result;
  }
  return (int)sent;
}

EXPORT ssize recvfrom(int file, void *data, size length, int flags, union address *from, u32 *from_length) {
  ssize result = NEXT(recvfrom)(file, data, length, flags, from, from_length);
  if (result >= 0 && from && from_length) show_address(from, *from_length);
  return result;
}

EXPORT ssize recvmsg(int file, struct message *message, int flags) {
  ssize result = NEXT(recvmsg)(file, message, flags);
  if (result >= 0 && message->name) show_address(message->name, message->name_length);
  return result;
}

#define SHOWN(name)                                                  \
  EXPORT int name(int file, union address *address, u32 *length) {   \
    int result = NEXT(name)(file, address, length);                  \
    if (result == 0 && address && length) show_address(address, *length); \
    return result;                                                   \
  }
SHOWN(getsockname)
SHOWN(getpeername)
