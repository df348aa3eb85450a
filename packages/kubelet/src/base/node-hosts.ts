import { readFileSync } from "node:fs";

/** A node with a network of its own. */
export interface HostsNode {
  readonly nodeName: string;
  readonly address: string;
}

const machineHostsPath = "/etc/hosts";

/** Text of the machine's /etc/hosts; empty if it does not exist. */
export function machineHosts(): string {
  try {
    return readFileSync(machineHostsPath, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

/**
 * The /etc/hosts of a node with a network of its own: names that the machine gives to its loopback addresses
 * are not the node's.
 */
export function nodeHosts({ nodeName, address }: HostsNode, machine = machineHosts()): string {
  const others = machine
    .split("\n")
    .filter((line) => /^\s*[0-9a-fA-F:.]+\s/.test(line) && !/^\s*(127\.|::1\s|f[ef][0-9a-f]{2}:)/.test(line));
  return [
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    ...others,
    `${address}\t${nodeName}`,
    "",
  ].join("\n");
}
