import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { listeningPort, readUnprivilegedPortStart } from "../../network/host-ports.ts";
import { listenersOn, socketsOf } from "../../network/listeners.ts";
import { RuntimeError } from "../error.ts";
import { loopbackOf } from "./addresses.ts";

/** A pod with an address of its own. */
export interface PodNetwork {
  readonly ip: string;
  readonly pids: readonly number[];
}

/**
 * Connects a stream with a port of a pod on this machine, until both directions have ended. Without `pod`,
 * the pod has the node's network. Since a pod has no network name space here, only sockets of its own
 * processes count: programs bind to its address, to loopback or to everything.
 */
export async function forwardPort(pod: PodNetwork | undefined, port: number, stream: Duplex): Promise<void> {
  const moved = listeningPort(port, readUnprivilegedPortStart());
  const places = [...new Set([port, moved])].flatMap((one) =>
    (pod === undefined ? ["127.0.0.1", "::1"] : hostsOf(pod, one)).map((host) => ({ host, port: one })),
  );
  const socket = await dial(places, port);
  // A failed connection closes the stream, and vice versa.
  const both = [pipeline(stream, socket), pipeline(socket, stream)];
  await Promise.all(both).catch(() => {});
  socket.destroy();
}

/** Addresses on which the pod's processes listen on a port, its own first. */
function hostsOf({ ip, pids }: PodNetwork, port: number): string[] {
  const listeners = listenersOn(port);
  if (listeners.length === 0) return [];
  const own = socketsOf(pids);
  const addresses = new Set(listeners.filter(({ inode }) => own.has(inode)).map(({ address }) => address));
  const everything = addresses.has("0.0.0.0") || addresses.has("0".repeat(32));
  const loopback6 = addresses.has(`${"0".repeat(24)}01000000`);
  return [
    ...(addresses.has(ip) || everything ? [ip] : []),
    ...[loopbackOf(ip), "127.0.0.1"].filter((host) => addresses.has(host)),
    ...(loopback6 ? ["::1"] : []),
  ];
}

interface Place {
  readonly host: string;
  readonly port: number;
}

/** Connects to the first place that accepts. The error has the words of container runtimes. */
async function dial(places: readonly Place[], port: number): Promise<Socket> {
  let reason = "connection refused";
  for (const place of places) {
    try {
      return await open(place);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ECONNREFUSED") reason = message;
    }
  }
  const text = `dial tcp4 127.0.0.1:${port}: connect: ${reason}`;
  throw new RuntimeError(
    "PortForwardError",
    `failed to connect to localhost:${port} inside the pod: ${text}`,
  );
}

function open(place: Place): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...place, allowHalfOpen: true, noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
