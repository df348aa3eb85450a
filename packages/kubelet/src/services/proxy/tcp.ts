import { createServer, type Socket } from "node:net";
import { dial } from "./dial.ts";
import type { Backend, ListenerContext, PlaceListener } from "./listener.ts";

/** Joins connections of clients with connections to endpoints. */
export class TcpListener implements PlaceListener {
  backend: Backend;
  readonly #context: ListenerContext;
  readonly #server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (client) => {
    void this.#serve(client);
  });

  constructor(backend: Backend, context: ListenerContext) {
    this.backend = backend;
    this.#context = context;
  }

  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host: address, port, exclusive: true }, () => {
        this.#server.off("error", reject);
        // A failure to accept one connection must not end the server.
        this.#server.on("error", () => this.#context.exhausted());
        resolve(port);
      });
    });
  }

  close(): void {
    this.#server.close(() => {});
  }

  async #serve(client: Socket): Promise<void> {
    client.on("error", () => {});
    const { sockets, unprivilegedPortStart } = this.#context;
    if (!sockets.take()) {
      this.#context.exhausted();
      client.resetAndDestroy();
      return;
    }
    const gone = new AbortController();
    client.once("close", () => {
      sockets.free();
      gone.abort();
    });
    const { balancer, traffic } = this.backend;
    const from = client.remoteAddress ?? "";
    const endpoints = balancer.endpointsFor(from, traffic);
    const dialed = await dial(endpoints, from, unprivilegedPortStart, gone.signal);
    if (dialed === undefined) {
      client.resetAndDestroy();
      return;
    }
    balancer.accepted(from, dialed.endpoint);
    join(client, dialed.socket);
  }
}

/** Copies in both directions. Each end is passed on, and so is a reset. */
function join(client: Socket, endpoint: Socket): void {
  for (const [from, to] of [
    [client, endpoint],
    [endpoint, client],
  ] as const) {
    from.pipe(to);
    from.once("close", () => {
      if (from.errored !== null || !from.readableEnded) to.resetAndDestroy();
      else to.destroySoon();
    });
  }
  if (client.destroyed) endpoint.resetAndDestroy();
}
