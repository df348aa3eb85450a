import { readFileSync } from "node:fs";

/** Counters of a network interface since it is there. */
export interface InterfaceUse {
  readonly name: string;
  readonly receivedBytes: number;
  readonly receivedPackets: number;
  readonly receiveErrors: number;
  readonly receivedDropped: number;
  readonly sentBytes: number;
  readonly sentPackets: number;
  readonly sendErrors: number;
  readonly sentDropped: number;
}

/**
 * Interfaces of the network of a process (proc(5), /proc/PID/net/dev) but for the loopback one; none if the
 * process is gone.
 */
export function interfacesOf(pid: number | "self"): InterfaceUse[] {
  return parseInterfaces(readOr(`/proc/${pid}/net/dev`));
}

export function parseInterfaces(text: string): InterfaceUse[] {
  return text.split("\n").flatMap((line) => {
    const [, name = "", rest = ""] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    const values = rest.trim().split(/\s+/).map(Number);
    if (name === "" || name === "lo" || values.length < 12) return [];
    const [receivedBytes = 0, receivedPackets = 0, receiveErrors = 0, receivedDropped = 0] = values;
    const [sentBytes = 0, sentPackets = 0, sendErrors = 0, sentDropped = 0] = values.slice(8);
    return [
      {
        ...{ name, receivedBytes, receivedPackets, receiveErrors, receivedDropped },
        ...{ sentBytes, sentPackets, sendErrors, sentDropped },
      },
    ];
  });
}

/** Paths of block devices such as `/dev/sda`, by `MAJOR:MINOR`. */
export function diskNames(text = readOr("/proc/diskstats")): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/^\s*(\d+)\s+(\d+)\s+(\S+)/gm)].map(
      ([, major = "", minor = "", name = ""]) => [`${major}:${minor}`, `/dev/${name}`] as const,
    ),
  );
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
