#include "addresses.h"

// Added to a port that needs a privilege; src/network/host-ports.ts has the rule.
#define PORT_OFFSET 0xfc00

static const u32 mapped_prefix[3] = {0, 0, 0xffff0000}; // ::ffff:0:0/96, in the order of little-endian machines

int is_inet(const union address *address, u32 length) {
  return (address->family == AF_INET && length >= sizeof address->v4) ||
         (address->family == AF_INET6 && length >= 24);
}

// An IPv4 address, also within an IPv6 one; 0 for others.
u32 host_of(const union address *address) {
  if (address->family == AF_INET) return address->v4.address;
  const u32 *words = address->v6.address;
  return words[0] == 0 && words[1] == 0 && words[2] == mapped_prefix[2] ? words[3] : 0;
}

static int is_zero6(const union address *address, u32 last) {
  const u32 *words = address->v6.address;
  return words[0] == 0 && words[1] == 0 && words[2] == 0 && words[3] == last;
}

enum place place_of(const union address *address, u32 length) {
  if (!is_inet(address, length)) return elsewhere;
  if (address->family == AF_INET6 && is_zero6(address, 0)) return everywhere;
  if (address->family == AF_INET6 && is_zero6(address, 0x01000000)) return loopback;
  u32 host = host_of(address);
  const u8 *bytes = (const u8 *)&host;
  if (host == 0) {
    const u32 *words = address->v6.address;
    return address->family == AF_INET || words[2] == mapped_prefix[2] ? everywhere : elsewhere;
  }
  if (bytes[0] != 127) return elsewhere;
  if (bytes[1] == 0 && bytes[2] == 0 && bytes[3] == 1) return loopback;
  // Systems use 127.0.0.0/16 and 127.1.0.0/16 themselves.
  return bytes[1] > 1 ? cluster : elsewhere;
}

u16 port_of(const union address *address) { return swapped(address->v4.port); }

void set_port(union address *address, u16 port) { address->v4.port = swapped(port); }

void set_host(union address *address, u32 host) {
  if (address->family == AF_INET) {
    address->v4.address = host;
    return;
  }
  memcpy(address->v6.address, mapped_prefix, sizeof mapped_prefix);
  address->v6.address[3] = host;
  address->v6.scope = 0;
}

u16 served_port(u16 port) {
  u32 limit = settings()->free_port;
  if (limit > 1024) limit = 1024;
  return port > 0 && port < limit ? (u16)(port + PORT_OFFSET) : port;
}

// Undoes what bind and connect have done to an address of this machine.
void show_address(union address *address, u32 length) {
  const struct settings *now = settings();
  if (!now->address && !now->free_port) return;
  if (!is_inet(address, length)) return;
  u32 host = host_of(address);
  u16 port = port_of(address);
  if ((u8)host != 127) return;
  if (port > PORT_OFFSET && served_port((u16)(port - PORT_OFFSET)) == port) set_port(address, (u16)(port - PORT_OFFSET));
  if (!now->loopback || host != now->loopback) return;
  if (address->family == AF_INET) address->v4.address = 0x0100007f;
  else {
    memset(address->v6.address, 0, 16);
    address->v6.address[3] = 0x01000000;
  }
}

// The value of an option that is a number; -1 if there is none.
int socket_option(int file, int level, int name) {
  int value = -1;
  u32 length = sizeof value;
  return CALL5(__NR_getsockopt, file, level, name, &value, &length) == 0 ? value : -1;
}
