import type { Server, Socket } from "node:net";

/** Clock of the limit. The `Clock` of @dray/client fits. */
interface Timer {
  /** Calls `run` once after `milliseconds`; the returned function cancels that. */
  after(milliseconds: number, run: () => void): () => void;
}

/**
 * Ends connections whose TLS handshake takes too long. Node's own `handshakeTimeout` ignores connections that
 * send no data.
 */
export function limitHandshakes(server: Server, clock: Timer, milliseconds: number): void {
  const handshakes = new Map<string, () => void>();
  const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  const done = (name: string): void => {
    handshakes.get(name)?.();
    handshakes.delete(name);
  };
  server.on("connection", (socket: Socket) => {
    const name = nameOf(socket);
    done(name);
    handshakes.set(
      name,
      clock.after(milliseconds, () => socket.destroy()),
    );
    socket.once("close", () => done(name));
  });
  server.on("secureConnection", (socket: Socket) => done(nameOf(socket)));
}
