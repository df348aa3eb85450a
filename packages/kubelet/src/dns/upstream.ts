import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";
import { connect, isIPv6 } from "node:net";
import type { Clock } from "@dray/client";
import { MessageReader, messageFrame } from "./frames.ts";
import { parseResolvConf } from "./resolv-conf.ts";

/** Milliseconds before the next server is tried. */
const serverTimeout = 2000;
const dnsPort = 53;
/**
 * Maximum number of concurrent queries. Upstream: max_concurrent of CoreDNS's plugin forward in kubeadm's
 * Corefile.
 */
const maxQueries = 1000;

export interface UpstreamOptions {
  readonly resolvConf: string;
  /** Port of the servers, for tests. */
  readonly upstreamPort?: number;
  readonly clock: Clock;
  /** Returns a new random UUID. */
  readonly newId: () => string;
}

/** The DNS servers in the machine's resolv.conf, which is read for each query. */
export class UpstreamServers {
  readonly #options: UpstreamOptions;
  #queries = 0;

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  /** Forwards a query in wire format, by the same transport. Rejects if no server answers. */
  async ask(query: Buffer, transport: "udp" | "tcp", signal: AbortSignal): Promise<Buffer> {
    const { resolvConf } = this.#options;
    const { servers } = parseResolvConf(readFileSync(resolvConf, "utf8"));
    if (servers.length === 0) throw new Error(`${resolvConf} names no server`);
    if (this.#queries >= maxQueries) throw new Error(`${maxQueries} queries are under way already`);
    this.#queries++;
    try {
      let failure: unknown;
      for (const server of servers) {
        try {
          return await this.#askServer(server, query, transport, signal);
        } catch (error) {
          signal.throwIfAborted();
          failure = error;
        }
      }
      throw failure;
    } finally {
      this.#queries--;
    }
  }

  async #askServer(
    server: string,
    query: Buffer,
    transport: "udp" | "tcp",
    signal: AbortSignal,
  ): Promise<Buffer> {
    const { upstreamPort = dnsPort, clock, newId } = this.#options;
    const expired = new AbortController();
    const cancel = clock.after(serverTimeout, () => expired.abort());
    // A random ID, since clients may choose predictable ones.
    const sent = Buffer.from(query);
    sent.writeUInt16BE(Number.parseInt(newId().slice(0, 4), 16), 0);
    const ask = transport === "udp" ? askByUdp : askByTcp;
    try {
      const answer = await ask(server, upstreamPort, sent, AbortSignal.any([signal, expired.signal]));
      query.copy(answer, 0, 0, 2);
      return answer;
    } finally {
      cancel();
    }
  }
}

function isAnswer(message: Buffer, query: Buffer): boolean {
  return message.length >= 12 && message.readUInt16BE(0) === query.readUInt16BE(0) && message[2]! >= 0x80;
}

function askByUdp(host: string, port: number, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  const socket = createSocket(isIPv6(host.split("%")[0]!) ? "udp6" : "udp4");
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const abort = (): void => reject(new Error(`no answer from ${host}`, { cause: signal.reason }));
  signal.addEventListener("abort", abort, { once: true });
  socket.on("error", reject);
  socket.on("message", (message) => {
    if (isAnswer(message, query)) resolve(message);
  });
  // On a connected socket no other address can answer.
  socket.connect(port, host, (error?: Error) => {
    if (error !== undefined && error !== null) reject(error);
    else socket.send(query);
  });
  return promise.finally(() => {
    signal.removeEventListener("abort", abort);
    socket.close();
  });
}

function askByTcp(host: string, port: number, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  const socket = connect({ host, port });
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const abort = (): void => reject(new Error(`no answer from ${host}`, { cause: signal.reason }));
  signal.addEventListener("abort", abort, { once: true });
  const reader = new MessageReader();
  socket.on("error", reject);
  socket.on("end", () => reject(new Error(`${host} has closed the connection`)));
  socket.on("data", (data) => {
    for (const message of reader.read(data)) if (isAnswer(message, query)) resolve(message);
  });
  socket.write(messageFrame(query));
  return promise.finally(() => {
    signal.removeEventListener("abort", abort);
    socket.destroy();
  });
}
