import { readFileSync } from "node:fs";

/** Added to a port that needs a privilege: 64512 is 0xFC00, so the ports below 1024 come last of all. */
const offset = 0xfc00;

/** First port that every process may listen on, if the system does not say otherwise. */
const defaultStart = 1024;

/**
 * Returns the port on which a program without privileges serves `port` on its own address: programs on the
 * host runtime listen there, and who connects to them does the same.
 */
export function listeningPort(port: number, unprivilegedPortStart: number): number {
  return port > 0 && port < Math.min(unprivilegedPortStart, 1024) ? port + offset : port;
}

/** First port that every process of this network name space may listen on. */
export function readUnprivilegedPortStart(): number {
  try {
    return Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8"));
  } catch {
    return defaultStart;
  }
}
