// The source of what a pod sends.
#pragma once
#include "addresses.h"

// struct msghdr
struct message {
  union address *name;
  u32 name_length;
  void *parts;
  size part_count;
  void *control;
  size control_length;
  int flags;
};

// struct iovec
struct part {
  const void *data;
  size length;
};

// Room for the control data of a message.
struct control {
  __attribute__((aligned(8))) u8 bytes[512];
};

// source.c
void bind_source(int file, const union address *to, u32 length);
void disconnect(int file);
int release_source(int file, const union address *to, u32 length);
void add_source(int file, struct message *message, struct control *control);
