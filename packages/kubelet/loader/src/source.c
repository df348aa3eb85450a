// What a pod sends to this machine (127.0.0.0/8) comes from the pod's address, by which Services and servers
// know it: the system's own choice is 127.0.0.1 for all pods. What goes elsewhere has the machine's address.
#include "source.h"

#define IP_PKTINFO 8
#define IPV6_PKTINFO 50
#define IP_BIND_ADDRESS_NO_PORT 24

// struct cmsghdr with a struct in_pktinfo
struct packet_info {
  size length;
  int level, type;
  int interface;
  u32 source, destination;
};

// The address is one of this machine, and of IPv4.
static int is_local(const union address *to, u32 length) {
  enum place place = place_of(to, length);
  return (place == cluster || place == loopback) && host_of(to) != 0;
}

// Reads the address that a socket is bound to. Fails for sockets that have no place for an IPv4 address.
static int read_source(int file, union address *source, u32 *length) {
  *length = sizeof *source;
  if (CALL3(__NR_getsockname, file, source, length) != 0 || !is_inet(source, *length)) return 0;
  return source->family == AF_INET || socket_option(file, IPPROTO_IPV6, IPV6_V6ONLY) != 1;
}

// Binds a socket to the pod's address before it connects to one of this machine; fails if it is bound.
void bind_source(int file, const union address *to, u32 length) {
  const struct settings *now = settings();
  union address source;
  u32 size_of_source;
  int on = 1;
  if (!now->address || !is_local(to, length) || !read_source(file, &source, &size_of_source)) return;
  if (place_of(&source, size_of_source) != everywhere) return;
  CALL5(__NR_setsockopt, file, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  set_host(&source, now->address);
  set_port(&source, 0); // A failed connection has left one.
  CALL3(__NR_bind, file, &source, size_of_source);
}

// Has a socket forget the source that the system chose for its last connection, or its try of one.
void disconnect(int file) {
  static const union address none;
  CALL3(__NR_connect, file, &none, sizeof none.v4);
}

// Undoes bind_source for a datagram socket that is to connect elsewhere. A port that the program has chosen
// keeps the socket bound.
int release_source(int file, const union address *to, u32 length) {
  union address source;
  u32 size_of_source;
  if (is_local(to, length) || !read_source(file, &source, &size_of_source)) return 0;
  if (!settings()->address || host_of(&source) != settings()->address) return 0;
  disconnect(file);
  memset(&source, 0, sizeof source);
  source.family = size_of_source < 24 ? AF_INET : AF_INET6;
  return CALL3(__NR_bind, file, &source, size_of_source) == 0;
}

// Names the pod's address as the source of a datagram, if neither its socket nor the message names one.
void add_source(int file, struct message *message, struct control *control) {
  const struct settings *now = settings();
  union address source;
  u32 size_of_source;
  size used = message->control ? message->control_length : 0;
  if (!now->address || !is_local(message->name, message->name_length)) return;
  if (used + sizeof(struct packet_info) > sizeof control->bytes) return;
  if (socket_option(file, SOL_SOCKET, SO_TYPE) != SOCK_DGRAM || !read_source(file, &source, &size_of_source)) return;
  if (place_of(&source, size_of_source) != everywhere) return;
  memcpy(control->bytes, message->control, used);
  for (size at = 0; at + 16 <= used;) {
    const struct packet_info *info = (void *)(control->bytes + at);
    if (info->level == IPPROTO_IP && info->type == IP_PKTINFO) return;
    if (info->level == IPPROTO_IPV6 && info->type == IPV6_PKTINFO) return;
    if (info->length < 16 || info->length > used - at) return;
    at += (info->length + 7) & ~7ul;
  }
  used = (used + 7) & ~7ul;
  struct packet_info info = {16 + 12, IPPROTO_IP, IP_PKTINFO, 0, now->address, 0};
  memcpy(control->bytes + used, &info, sizeof info);
  message->control = control->bytes;
  message->control_length = used + sizeof info;
}
