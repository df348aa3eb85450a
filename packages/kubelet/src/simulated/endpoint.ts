import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "@dray/client";
import { limitHandshakes } from "@dray/streams";
import type { Serving } from "../server/server.ts";
import { refusalTo } from "../server/upgrade.ts";

/** Timeout of a TLS handshake in milliseconds, as in the API server. */
const handshakeTimeout = 32_000;

const verbs: Readonly<Record<string, string>> = {
  containerLogs: "it has no logs",
  exec: "no command can run in it",
  run: "no command can run in it",
  attach: "there is nothing to attach to",
  portForward: "nothing listens in it",
};

/** Endpoint of all simulated nodes, which responds that there is no container. */
export class SimulatedEndpoint {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor({ cert, key, clientCA }: Pick<Serving, "cert" | "key" | "clientCA">, clock: Clock) {
    const clients =
      clientCA === undefined ? {} : { ca: clientCA, requestCert: true, rejectUnauthorized: true };
    this.#server = createServer({ cert, key, ...clients }, answer);
    limitHandshakes(this.#server, clock, handshakeTimeout);
    this.#server.on("upgrade", (request: IncomingMessage, duplex: Duplex, head: Buffer) => {
      const socket = duplex as Socket;
      socket.on("error", () => {});
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      answer(request, refusalTo(request, { socket, head }));
    });
  }

  /** Listens on the port if it is free, else on any. Returns it. */
  async listen(address: string, port: number | undefined): Promise<number> {
    if (port !== undefined && (await this.#listens(address, port))) return port;
    if (!(await this.#listens(address, 0))) throw new Error(`no port of ${address} is free`);
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #listens(address: string, port: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException): void => {
        if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(false);
        else reject(error);
      };
      this.#server.once("error", failed);
      this.#server.listen(port, address, () => {
        this.#server.off("error", failed);
        resolve(true);
      });
    });
  }
}

function answer({ url = "/" }: IncomingMessage, response: ServerResponse): void {
  const text = { "content-type": "text/plain; charset=utf-8" };
  const [, first = "", namespace = "", pod = ""] = url.split("?", 1)[0]!.split("/").map(safeDecode);
  if (first === "healthz") {
    response.writeHead(200, text).end("ok");
    return;
  }
  const why = verbs[first];
  if (why === undefined) response.writeHead(404, text).end("the node is simulated: it has no such document");
  else
    response
      .writeHead(400, text)
      .end(`pod ${namespace}/${pod} is on a simulated node, where no container runs: ${why}`);
}

function safeDecode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
