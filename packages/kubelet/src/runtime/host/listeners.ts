import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Where a process of the machine listens for TCP connections. */
export interface Listener {
  /** `127.0.0.1`; `::` and the like as the kernel's 32 digits. */
  readonly address: string;
  readonly inode: string;
}

/** A socket in the table that listens. */
const listening = "0A";

/** All who listen on a port, of both families, from the kernel's tables. */
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

/** The beginning of an IPv6 address that is an IPv4 address. */
const mapped = "0000000000000000FFFF0000";

/** IPv4 addresses stand there as a number of the machine, whose bytes are the other way round. */
function readAddress(digits: string): string {
  if (digits.length !== 8 && !digits.startsWith(mapped)) return digits;
  const number = digits.slice(-8);
  return [6, 4, 2, 0].map((at) => Number.parseInt(number.slice(at, at + 2), 16)).join(".");
}

/** The inodes of the sockets that processes hold. */
export function socketsOf(pids: readonly number[]): Set<string> {
  const inodes = new Set<string>();
  for (const pid of pids)
    for (const fd of readNames(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    }
  return inodes;
}

// Processes end, and IPv6 may be switched off.

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
