import { listeningPort, readUnprivilegedPortStart } from "../../network/host-ports.ts";
import { listenersOn } from "../../network/listeners.ts";

/**
 * Returns the port at which a pod serves `port` on its address: the port itself, or where nothing listens
 * there, the one in its place for programs without privileges.
 */
export function podPort(address: string, port: number): number {
  const moved = listeningPort(port, readUnprivilegedPortStart());
  if (moved === port || isListenedOn(address, port)) return port;
  return isListenedOn(address, moved) ? moved : port;
}

const everything = ["0.0.0.0", "0".repeat(32)];

function isListenedOn(address: string, port: number): boolean {
  return listenersOn(port).some((listener) => [address, ...everything].includes(listener.address));
}
