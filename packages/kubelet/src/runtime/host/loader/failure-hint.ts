import { readFileSync } from "node:fs";
import { listeningPort } from "../../../network/host-ports.ts";
import { listenersOn, socketsOf } from "../../../network/listeners.ts";
import { processVariable, runningProcesses } from "../processes.ts";
import { podVariable } from "./variables.ts";

/** Why a program may have failed to listen. */
export interface ListenFailure {
  readonly problem: "in use" | "denied";
  /** Ports that the message names. */
  readonly ports: readonly number[];
}

const inUse = /address already in use|EADDRINUSE/i;
const denied = /(?:bind|listen)\b.*(?:permission denied|EACCES)/i;

/** Not the time of a line. */
const addressAndPort = /(?:^|(?:\d+\.){3}\d+|[\s\]*"'(:]|localhost):(\d{1,5})\b/g;

/** Finds the last message of a failed listen in the end of a log, with its port where one has it. */
export function listenFailure(log: string): ListenFailure | undefined {
  const found = log.split("\n").flatMap((line): ListenFailure[] => {
    const problem = inUse.test(line) ? "in use" : denied.test(line) ? "denied" : undefined;
    const ports = [...line.matchAll(addressAndPort)].map(([, digits]) => Number(digits));
    return problem === undefined
      ? []
      : [{ problem, ports: ports.filter((port) => port > 0 && port < 65_536) }];
  });
  return found.findLast(({ ports }) => ports.length > 0) ?? found.at(-1);
}

/** Addresses of a pod that failed to listen, and the ports that it declares. */
export interface Listening {
  readonly addresses: readonly string[];
  readonly declaredPorts: readonly number[];
  readonly firstFreePort: number;
}

const wildcards = ["0.0.0.0", "0".repeat(32)];

/** Says who has the port on which a program failed to listen, or why it may not; undefined if unknown. */
export function listenHint({ problem, ports }: ListenFailure, listening: Listening): string | undefined {
  const { addresses, declaredPorts, firstFreePort } = listening;
  const candidates = ports.length > 0 ? ports : declaredPorts;
  if (problem === "denied") {
    const port = candidates.find((one) => one < firstFreePort);
    return port === undefined
      ? undefined
      : `port ${port} needs a privilege here, and its program takes no library that would open ${listeningPort(port, firstFreePort)} in its place: listen on a port from ${firstFreePort} on, or run the cluster as root`;
  }
  for (const port of candidates)
    for (const { address, inode } of [port, listeningPort(port, firstFreePort)].flatMap(listenersOn)) {
      if (!wildcards.includes(address) && !addresses.includes(address)) continue;
      const owner = ownerOf(inode);
      const where = wildcards.includes(address) ? "on all addresses of the machine" : `on ${address}`;
      return `port ${port} is in use ${where} by ${owner}: pods of the runtime host share the machine's network, and only programs that take a library listen on their pod's address alone; listen on $DRAY_POD_IP, or on another port`;
    }
  return undefined;
}

function ownerOf(inode: string): string {
  const pid = runningProcesses().find((one) => socketsOf([one]).has(inode));
  if (pid === undefined) return "a process of another user";
  const pod = processVariable(pid, podVariable);
  return `${pod === undefined ? "" : `pod ${pod}, `}process ${pid} (${nameOf(pid)})`;
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "ended meanwhile";
  }
}
