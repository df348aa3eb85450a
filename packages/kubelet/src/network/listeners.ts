import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A socket that listens for TCP connections. */
export interface Listener {
  /** `127.0.0.1`; IPv6 addresses as the kernel's 32 digits. */
  readonly address: string;
  readonly inode: string;
}

/** State of a listening socket in the table. */
const listening = "0A";

/** All listeners on a port, of both families, from the kernel's tables. */
export function listenersOn(port: number): Listener[] {
  const found: Listener[] = [];
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"])
    for (const line of readLines(table)) {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      const [address = "", digits = ""] = local.split(":");
      if (state === listening && Number.parseInt(digits, 16) === port)
        found.push({ address: readAddress(address), inode });
    }
  return found;
}

/** Prefix of an IPv4-mapped IPv6 address. */
const mapped = "0000000000000000FFFF0000";

/** IPv4 addresses are printed as a little-endian number. */
function readAddress(digits: string): string {
  if (digits.length !== 8 && !digits.startsWith(mapped)) return digits;
  const number = digits.slice(-8);
  return [6, 4, 2, 0].map((at) => Number.parseInt(number.slice(at, at + 2), 16)).join(".");
}

/** Inodes of the sockets of processes. */
export function socketsOf(pids: readonly number[]): Set<string> {
  const inodes = new Set<string>();
  for (const pid of pids)
    for (const fd of readNames(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    }
  return inodes;
}

// Processes end, and IPv6 may be disabled.

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "latin1").split("\n").slice(1, -1);
  } catch {
    return [];
  }
}

function readNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
