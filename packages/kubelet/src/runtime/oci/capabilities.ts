import type { SecurityConfig } from "../config.ts";

/** Names by number. Source: capabilities(7), linux/capability.h. */
const names = `CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT
SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP
MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`.split(
  /\s+/,
);

/** Default capabilities. Upstream: containerd, oci.defaultUnixCaps. */
const defaults =
  `CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT
KILL AUDIT_WRITE`.split(/\s+/);

/** Parses a set as in /proc/PID/status (`CapBnd`). */
export function capabilitiesOf(hexadecimal: string): ReadonlySet<string> {
  const bits = BigInt(`0x${hexadecimal.trim() || "0"}`);
  return new Set(names.filter((_, i) => ((bits >> BigInt(i)) & 1n) === 1n));
}

export interface Capabilities {
  /** With `CAP_`. */
  readonly given: readonly string[];
  /** Requested capabilities that this machine lacks or that are unknown. */
  readonly missing: readonly string[];
}

/** The defaults without those that the pod drops, with those that it adds. */
export function containerCapabilities(
  { privileged, addCapabilities, dropCapabilities }: SecurityConfig,
  available: ReadonlySet<string>,
): Capabilities {
  const plain = (name: string): string => name.toUpperCase().replace(/^CAP_/, "");
  const add = addCapabilities.map(plain);
  const drop = new Set(dropCapabilities.map(plain));
  const wanted = new Set(drop.has("ALL") ? [] : defaults.filter((name) => !drop.has(name)));
  if (privileged || add.includes("ALL"))
    for (const name of names) if (privileged || !drop.has(name)) wanted.add(name);
  for (const name of add) if (name !== "ALL") wanted.add(name);
  const given = [...wanted].filter((name) => available.has(name));
  return {
    given: given.map((name) => `CAP_${name}`),
    missing: add.filter((name) => name !== "ALL" && !available.has(name)),
  };
}
