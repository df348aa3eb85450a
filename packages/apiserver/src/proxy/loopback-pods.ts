import { isIPv4 } from "node:net";

/**
 * Pods that are processes of this machine, with addresses of 127.0.0.0/8: endpoints may have such addresses,
 * and proxies connect to them.
 */
export interface LoopbackPods {
  /** Returns the port at which a pod serves this port of its own. */
  port(address: string, port: number): number;
}

/** Returns the target of a connection to a pod or an endpoint. */
export function podAddress<T extends { readonly host: string; readonly port: number }>(
  target: T,
  loopbackPods: LoopbackPods | undefined,
): T {
  if (loopbackPods === undefined || !isLoopbackIPv4(target.host)) return target;
  return { ...target, port: loopbackPods.port(target.host, target.port) };
}

export function isLoopbackIPv4(host: string): boolean {
  return isIPv4(host) && host.startsWith("127.");
}
