/**
 * The checks of a device, in the order of the explanation: whether the device is of the right kind comes
 * before whether it is in use, so that a device of another class never counts as in use. (The search skips
 * devices in use first.) Gates of counters and of node operations come after the capacity; in mode All
 * `in-use` does, too.
 */
export type Check =
  | "pool"
  | "gate"
  | "class-selector"
  | "request-selector"
  | "node"
  | "in-use"
  | "capacity"
  | "compatibility-group"
  | "counter"
  | "taint"
  | "constraint"
  | "limit"
  | "error";
