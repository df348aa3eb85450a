// Addresses of sockets.
#pragma once
#include "base.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define IPPROTO_IP 0
#define IPPROTO_IPV6 41
#define IPV6_V6ONLY 26
#define SOL_SOCKET 1
#define SO_TYPE 3

// Room for every kind of address.
union address {
  u16 family;
  struct {
    u16 family, port;
    u32 address;
    u8 zero[8];
  } v4;
  struct {
    u16 family, port;
    u32 flow;
    u32 address[4];
    u32 scope;
  } v6;
  struct {
    u16 family;
    char path[126];
  } local;
};

static inline u16 swapped(u16 value) { return (u16)(value << 8 | value >> 8); }

enum place {
  elsewhere,
  everywhere, // the wildcard address
  loopback,   // 127.0.0.1 or ::1
  cluster,    // an address that a cluster on this machine gives to pods and Services
};

// addresses.c
enum place place_of(const union address *address, u32 length);
u32 host_of(const union address *address);
int is_inet(const union address *address, u32 length);
u16 port_of(const union address *address);
void set_port(union address *address, u16 port);
void set_host(union address *address, u32 host);
u16 served_port(u16 port);
void show_address(union address *address, u32 length);
int socket_option(int file, int level, int name);
