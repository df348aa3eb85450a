import { connect, type Socket } from "node:net";
import { listeningPort } from "../../network/host-ports.ts";
import type { RouteEndpoint } from "../routes.ts";
import { isOnThisMachine } from "./balancer.ts";

/** Maximum number of endpoints that are tried for a connection. */
const maxTries = 4;

/** A connection to an endpoint. */
export interface Dialed {
  readonly socket: Socket;
  readonly endpoint: RouteEndpoint;
}

/**
 * Connects to the first endpoint that accepts, with the client's address as the source if it is one of this
 * machine, so that the endpoint sees who calls. Resolves with undefined if none accepts, or if the signal
 * aborts.
 */
export async function dial(
  endpoints: readonly RouteEndpoint[],
  client: string,
  unprivilegedPortStart: number,
  signal: AbortSignal,
): Promise<Dialed | undefined> {
  for (const endpoint of endpoints.slice(0, maxTries))
    for (const port of portsOf(endpoint, unprivilegedPortStart)) {
      if (signal.aborted) return undefined;
      const socket = await open(endpoint.address, port, client, signal);
      if (socket !== undefined) return { socket, endpoint };
    }
  return undefined;
}

/** The port of an endpoint, and the one at which a pod without privileges serves it. */
export function portsOf({ address, port }: RouteEndpoint, unprivilegedPortStart: number): readonly number[] {
  const moved = listeningPort(port, unprivilegedPortStart);
  return moved === port || !isOnThisMachine(address) ? [port] : [port, moved];
}

/** The source address for connections on behalf of a client; undefined for that which the system chooses. */
export function sourceOf(client: string, endpoint: string): string | undefined {
  // The system's own choice does not use up a port for all endpoints.
  return isOnThisMachine(client) && isOnThisMachine(endpoint) && client !== "127.0.0.1" ? client : undefined;
}

function open(host: string, port: number, client: string, signal: AbortSignal): Promise<Socket | undefined> {
  const localAddress = sourceOf(client, host);
  return new Promise((resolve) => {
    const socket = connect({
      ...{ host, port, allowHalfOpen: true, noDelay: true },
      ...(localAddress !== undefined && { localAddress }),
    });
    const abort = (): void => void socket.destroy();
    const failed = (): void => {
      signal.removeEventListener("abort", abort);
      resolve(undefined);
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.on("error", () => {});
    socket.once("close", failed);
    socket.once("connect", () => {
      socket.off("close", failed);
      signal.removeEventListener("abort", abort);
      resolve(socket);
    });
  });
}
