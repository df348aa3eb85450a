import { readFileSync } from "node:fs";
import { RuntimeError } from "../error.ts";

/** Capabilities of Linux by number (`linux/capability.h`). */
const names = [
  "CHOWN",
  "DAC_OVERRIDE",
  "DAC_READ_SEARCH",
  "FOWNER",
  "FSETID",
  "KILL",
  "SETGID",
  "SETUID",
  "SETPCAP",
  "LINUX_IMMUTABLE",
  "NET_BIND_SERVICE",
  "NET_BROADCAST",
  "NET_ADMIN",
  "NET_RAW",
  "IPC_LOCK",
  "IPC_OWNER",
  "SYS_MODULE",
  "SYS_RAWIO",
  "SYS_CHROOT",
  "SYS_PTRACE",
  "SYS_PACCT",
  "SYS_ADMIN",
  "SYS_BOOT",
  "SYS_NICE",
  "SYS_RESOURCE",
  "SYS_TIME",
  "SYS_TTY_CONFIG",
  "MKNOD",
  "LEASE",
  "AUDIT_WRITE",
  "AUDIT_CONTROL",
  "SETFCAP",
  "MAC_OVERRIDE",
  "MAC_ADMIN",
  "SYSLOG",
  "WAKE_ALARM",
  "BLOCK_SUSPEND",
  "AUDIT_READ",
  "PERFMON",
  "BPF",
  "CHECKPOINT_RESTORE",
] as const;

/**
 * Default capabilities of containerd and CRI-O, without MKNOD: a device node would give access to the disks
 * of the machine.
 */
const usual = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FSETID",
  "FOWNER",
  "NET_RAW",
  "SETGID",
  "SETUID",
  "SETFCAP",
  "SETPCAP",
  "NET_BIND_SERVICE",
  "SYS_CHROOT",
  "KILL",
  "AUDIT_WRITE",
];

/** Throws CreateContainerError for an unknown capability. */
function numbersOf(list: readonly string[]): number[] {
  return list.flatMap((name) => {
    if (name === "ALL") return names.map((_, number) => number);
    const number = (names as readonly string[]).indexOf(name);
    if (number < 0)
      throw new RuntimeError(
        "CreateContainerError",
        `unknown capability ${JSON.stringify(name)}: must be ALL or a name of capabilities(7), as NET_ADMIN`,
      );
    return [number];
  });
}

/** Capabilities of a container by number. */
export interface Capabilities {
  /** Bounding set. */
  readonly bounding: readonly number[];
  /** Capabilities that `add` names. */
  readonly added: readonly number[];
}

/** Drops are applied before adds, as in CRI. */
export function containerCapabilities(add: readonly string[], drop: readonly string[]): Capabilities {
  const set = new Set(numbersOf(usual));
  for (const number of numbersOf(drop)) set.delete(number);
  const added = numbersOf(add);
  for (const number of added) set.add(number);
  return { bounding: [...set], added };
}

export const bindService: number = names.indexOf("NET_BIND_SERVICE");

/** Bounding set of this process; empty if it has no capabilities. */
export function ownBoundingSet(): ReadonlySet<number> {
  let status: string;
  try {
    status = readFileSync("/proc/self/status", "latin1");
  } catch {
    return new Set();
  }
  const bits = BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0"}`);
  return new Set(names.flatMap((_, number) => ((bits >> BigInt(number)) & 1n ? [number] : [])));
}

/** Formats a list for setpriv(1). By number, since it may not know new names. */
export function capabilityList(numbers: readonly number[]): string {
  return ["-all", ...numbers.map((number) => `+cap_${number}`)].join();
}
