/**
 * Addresses of a cluster on this machine, which has 10.OCTET.0.0/16 and the bridge `dray-OCTET`: the machine
 * has 10.OCTET.0.1, the n-th node 10.OCTET.1.n, and its pods the n-th 512 addresses of the network.
 */
export const nodeSize = 512;
/** Maximum number of nodes: the first 512 addresses are those of the machine and of the nodes themselves. */
export const maxNodes = 65536 / nodeSize - 1;

export function bridgeName(octet: number): string {
  return `dray-${octet}`;
}

export function clusterRange(octet: number): string {
  return `10.${octet}.0.0/16`;
}

export function gatewayAddress(octet: number): string {
  return `10.${octet}.0.1`;
}

/** Addresses of the machine and of the nodes: the rest of the network are those of pods. */
export function hostsRange(octet: number): string {
  return `10.${octet}.0.0/23`;
}

/** Addresses of the nodes. */
export function nodesRange(octet: number): string {
  return `10.${octet}.1.0/24`;
}

export function nodeAddress(octet: number, number: number): string {
  return `10.${octet}.1.${number}`;
}

/** Second octet of the network of a bridge. */
export function octetOf(bridge: string): number {
  return Number(/^dray-(\d+)$/.exec(bridge)?.[1]);
}

/**
 * Derives the hardware address of an interface from its IP address, so that no ARP request is needed.
 *
 * Upstream: containernetworking/plugins before 0.9, pkg/utils/hwaddr
 */
export function hardwareAddress(ip: string): string {
  const bytes = ip.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
  return ["0a", "58", ...bytes].join(":");
}
