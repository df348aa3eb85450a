import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import type { Clock, Log } from "@dray/client";
import dnsPacket, {
  type Answer,
  type DecodedPacket,
  type OptAnswer,
  type Packet,
  type Question,
} from "dns-packet";
import { answerQuery, response } from "./answer.ts";
import { MessageReader, messageFrame } from "./frames.ts";
import type { DnsZone } from "./records.ts";
import { UpstreamServers } from "./upstream.ts";

export interface DnsServerOptions {
  readonly zone: DnsZone;
  readonly address: string;
  /** A free one if absent. */
  readonly port?: number;
  /** The resolv.conf that names the servers of other zones. */
  readonly resolvConf: string;
  /** Port of those servers, for tests. */
  readonly upstreamPort?: number;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly log: Log;
}

export interface DnsServer {
  /** The same for UDP and TCP. */
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Maximum length of an answer by UDP in bytes: for clients without EDNS (RFC 1035), and for all (DNS flag day
 * 2020).
 */
const plainLength = 512;
const maxUdpLength = 1232;
/** Maximum length of an answer by TCP, in bytes (RFC 1035, 4.2.2). */
const maxTcpLength = 65_535;
/** Minimum length of a record, in bytes. */
const minRecord = 16;
const maxConnections = 256;
/** Milliseconds for which a connection may be idle. */
const idleTimeout = 10_000;
const formatError = 1;
const serverFailure = 2;
const notImplemented = 4;
const maxPortTries = 16;

/** Serves the names of a cluster at `address`; other names are forwarded. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const responder = new Responder(options);
  const connections = new Set<Socket>();
  const tcp = createServer((socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    responder.serve(socket);
  });
  tcp.maxConnections = maxConnections;
  let udp: UdpSocket;
  for (let tries = 1; ; tries++) {
    tcp.listen({ host: options.address, port: options.port ?? 0 });
    await once(tcp, "listening");
    udp = createSocket("udp4");
    try {
      udp.bind(portOf(tcp), options.address);
      await once(udp, "listening");
      break;
    } catch (error) {
      // The port is in use for UDP.
      udp.close();
      tcp.close();
      await once(tcp, "close");
      if (
        (error as NodeJS.ErrnoException).code !== "EADDRINUSE" ||
        options.port !== undefined ||
        tries === maxPortTries
      )
        throw error;
    }
  }
  udp.on("message", (message, from) => {
    responder.answerDatagram(udp, message, from).catch((error: Error) => {
      options.log.debug({ err: error }, "a name cannot be answered");
    });
  });
  udp.on("error", (error) => options.log.warn({ err: error }, "the socket of the DNS server failed"));
  tcp.on("error", (error) => options.log.warn({ err: error }, "the socket of the DNS server failed"));
  return {
    port: portOf(tcp),
    async close() {
      responder.close();
      for (const socket of connections) socket.destroy();
      const closed = [once(tcp, "close"), once(udp, "close")];
      tcp.close();
      udp.close();
      await Promise.all(closed);
    },
  };
}

function portOf(server: ReturnType<typeof createServer>): number {
  return (server.address() as { readonly port: number }).port;
}

class Responder {
  readonly #zone: DnsZone;
  readonly #log: Log;
  readonly #upstream: UpstreamServers;
  readonly #stop = new AbortController();

  constructor(options: DnsServerOptions) {
    this.#zone = options.zone;
    this.#log = options.log;
    this.#upstream = new UpstreamServers(options);
  }

  close(): void {
    this.#stop.abort();
  }

  async answerDatagram(socket: UdpSocket, message: Buffer, from: RemoteInfo): Promise<void> {
    // No program listens on port 0, and sending there is an error.
    if (from.port === 0) return;
    const answer = await this.#answer(message, "udp");
    if (answer !== undefined && !this.#stop.signal.aborted) socket.send(answer, from.port, from.address);
  }

  serve(socket: Socket): void {
    const reader = new MessageReader();
    socket.setTimeout(idleTimeout, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("data", (data) => {
      // A client that reads no answers is not read from.
      socket.pause();
      this.#answerAll(reader.read(data), socket).then(
        () => socket.resume(),
        () => socket.destroy(),
      );
    });
  }

  async #answerAll(messages: readonly Buffer[], socket: Socket): Promise<void> {
    for (const message of messages) {
      const answer = await this.#answer(message, "tcp");
      if (answer === undefined || !socket.writable) continue;
      if (!socket.write(messageFrame(answer))) await once(socket, "drain", { signal: this.#stop.signal });
    }
  }

  /** Returns undefined if the message is not a query: answering a response could loop. */
  async #answer(message: Buffer, transport: "udp" | "tcp"): Promise<Buffer | undefined> {
    if (message.length < 12 || message[2]! >= 0x80) return undefined;
    // Only queries are supported (RFC 1035, 4.1.1).
    if (((message[2]! >> 3) & 15) !== 0) return headerOnly(message, notImplemented);
    let query: DecodedPacket;
    try {
      query = dnsPacket.decode(message);
    } catch {
      return headerOnly(message, formatError);
    }
    // As all servers: several questions in one query are undefined (RFC 9619).
    if (query.questions?.length !== 1) return headerOnly(message, formatError);
    try {
      const answer = await answerQuery(query, this.#zone, (question) => this.#resolve(question));
      if (answer === undefined) return await this.#upstream.ask(message, transport, this.#stop.signal);
      return encode(query, answer, transport);
    } catch (error) {
      this.#log.debug({ err: error, questions: query.questions }, "a name cannot be resolved");
      return encode(
        query,
        { ...response(query), flags: serverFailure | dnsPacket.RECURSION_AVAILABLE },
        transport,
      );
    }
  }

  /** Records of a name outside the cluster; empty if it has none. */
  async #resolve(question: Question): Promise<readonly Answer[]> {
    const flags = dnsPacket.RECURSION_DESIRED;
    const query = dnsPacket.encode({ type: "query", id: 0, flags, questions: [question] });
    const { signal } = this.#stop;
    const answer = dnsPacket.decode(await this.#upstream.ask(query, "udp", signal));
    const whole = answer.flag_tc ? dnsPacket.decode(await this.#upstream.ask(query, "tcp", signal)) : answer;
    return whole.answers ?? [];
  }
}

/** Truncates to the client's limit: it repeats a truncated query by TCP. */
function encode(query: Packet, answer: Packet, transport: "udp" | "tcp"): Buffer {
  const option = query.additionals?.find(({ type }) => type === "OPT") as OptAnswer | undefined;
  const own: Answer[] = option === undefined ? [] : [ownOption];
  const { answers = [], additionals = [] } = answer;
  const whole = dnsPacket.encode({ ...answer, additionals: [...additionals, ...own] });
  const limit =
    transport === "tcp"
      ? maxTcpLength
      : Math.min(Math.max(option?.udpPayloadSize ?? 0, plainLength), maxUdpLength);
  if (whole.length <= limit) return whole;
  const short = dnsPacket.encode({ ...answer, additionals: own });
  if (short.length <= limit) return short;
  // Some resolvers (musl before 1.2.4) never repeat by TCP, and use the truncated answer.
  const flags = (answer.flags ?? 0) | dnsPacket.TRUNCATED_RESPONSE;
  for (let count = Math.min(answers.length - 1, Math.floor(limit / minRecord)); ; count--) {
    const cut = dnsPacket.encode({ ...answer, flags, answers: answers.slice(0, count), additionals: own });
    if (cut.length <= limit || count === 0) return cut;
  }
}

/** Announces support of longer datagrams (RFC 6891). */
const ownOption: OptAnswer = {
  type: "OPT",
  name: ".",
  udpPayloadSize: maxUdpLength,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};

/** An answer with only the ID and an error code. */
function headerOnly(message: Buffer, code: number): Buffer {
  const header = Buffer.alloc(12);
  message.copy(header, 0, 0, 2);
  // The opcode and RD are the client's.
  header[2] = 0x80 | (message[2]! & 0x79);
  header[3] = code;
  return header;
}
