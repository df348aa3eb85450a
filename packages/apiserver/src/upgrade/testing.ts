/**
 * For tests: a kubelet that serves streams and one log, an API server with a pod on its node, and clients of
 * it.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import {
  type ForwardedConnection,
  portForwardOverSpdy,
  type RemoteCommand,
  remoteCommandOverSpdy,
  remoteCommandOverWebSocket,
  webSocketRemoteCommandProtocols,
} from "@dray/streams";
import { WebSocket } from "ws";
import { createAuthority, issueCertificate, type KubeletClient, type ServerOptions } from "../index.ts";
import { adminToken, type TestServer, testServer } from "../testing/server.ts";

const now = Date.now();
const authority = await createAuthority("test-ca", now);
const issue = (commonName: string, usage: "client" | "server") =>
  issueCertificate(authority, { commonName, ipAddresses: ["127.0.0.1"], usages: [usage] }, now);
const serverPair = await issue("kube-apiserver", "server");
const kubeletPair = await issue("system:node:n1", "server");
const clientPair = await issue("kubelet-client", "client");

export interface KubeletBehaviour {
  command?(command: RemoteCommand): Promise<void>;
  connection?(connection: ForwardedConnection): void;
  /** Responds to requests that do not upgrade; `a line` if absent. */
  log?(response: ServerResponse, request: IncomingMessage): void;
  /** Returns the bytes of another response to an upgrade request. */
  refuse?(request: IncomingMessage): string | undefined;
}

export interface Streams extends TestServer {
  readonly url: string;
  /** `COMMON NAME METHOD URL` of each request to the kubelet. */
  readonly asked: string[];
  readonly headers: IncomingMessage["headers"][];
  /** Current connections to the kubelet. */
  readonly connections: Set<Duplex>;
  /** Sends an upgrade request as the administrator. */
  upgrade(path: string, headers: Record<string, string | string[]>, method?: string): Promise<Upgraded>;
  /** Returns a WebSocket client, open or failed. */
  webSocket(path: string, protocols: string[], headers?: Record<string, string>): WebSocket;
}

export type Upgraded =
  | {
      readonly status: 101;
      readonly response: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Buffer;
    }
  | { readonly status: number; readonly response: IncomingMessage; readonly text: string };

export const pod = "/api/v1/namespaces/default/pods/p";

/** The server's kubelet client, unless a test replaces it. */
export const kubeletClient: KubeletClient = { ...clientPair, authority: authority.certificate };

/** Starts a listening server, and the kubelet of its node n1, which runs pod p with container c. */
export async function streams(
  t: TestContext,
  behaviour: KubeletBehaviour,
  client: KubeletClient = kubeletClient,
  options: Pick<ServerOptions, "maxPassedOnRequests"> = {},
): Promise<Streams> {
  const asked: string[] = [];
  const seenHeaders: IncomingMessage["headers"][] = [];
  const connections = new Set<Duplex>();
  const kubelet = createServer({
    cert: kubeletPair.certificate,
    key: kubeletPair.key,
    ca: authority.certificate,
    requestCert: true,
  });
  kubelet.on("upgrade", (asking: IncomingMessage, socket: Duplex, head: Buffer) => {
    const subject = (socket as TLSSocket).getPeerCertificate().subject;
    asked.push(`${subject?.CN} ${asking.method} ${asking.url}`);
    seenHeaders.push(asking.headers);
    connections.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => connections.delete(socket));
    const refusal = behaviour.refuse?.(asking);
    if (refusal !== undefined) socket.end(refusal);
    else answer(asking, socket, head, behaviour).catch(() => socket.destroy());
  });
  kubelet.on("request", (request, response) =>
    behaviour.log ? behaviour.log(response, request) : response.end("a line\n"),
  );
  kubelet.listen(0, "127.0.0.1");
  await once(kubelet, "listening");
  const { port } = kubelet.address() as AddressInfo;
  const tested = await testServer({
    ...options,
    kubelet: client,
    disabledAdmissionPlugins: ["ServiceAccount"],
    serving: { ...serverPair, clientAuthority: authority.certificate },
  });
  const { url } = await tested.server.listen();
  await tested.call("POST", "/api/v1/nodes", { body: { metadata: { name: "n1" } } });
  await tested.call("PATCH", "/api/v1/nodes/n1/status", {
    body: {
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    },
  });
  await tested.call("POST", "/api/v1/namespaces/default/pods", {
    body: { metadata: { name: "p" }, spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] } },
  });
  t.after(async () => {
    await tested.server.close();
    kubelet.closeAllConnections();
    for (const connection of connections) connection.destroy();
    kubelet.close();
  });
  const bearer = { authorization: `Bearer ${adminToken}` };
  return {
    ...tested,
    url,
    asked,
    headers: seenHeaders,
    connections,
    upgrade(path, headers, method = "POST") {
      return new Promise((resolve, reject) => {
        const options = {
          method,
          ca: authority.certificate,
          agent: false,
          headers: { ...bearer, ...headers },
        };
        const call = request(url + path, options);
        call.once("error", reject);
        call.once("upgrade", (response, socket, head) => {
          socket.on("error", () => {});
          resolve({ status: 101, response, socket, head });
        });
        call.once("response", async (response) => {
          resolve({ status: response.statusCode!, response, text: (await response.toArray()).join("") });
        });
        call.end();
      });
    },
    webSocket(path, protocols, headers = bearer) {
      const ws = new WebSocket(url.replace("https", "wss") + path, protocols, {
        ca: authority.certificate,
        headers,
      });
      ws.on("error", () => {});
      return ws;
    },
  };
}

async function answer(
  { url = "", method = "", headers }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  behaviour: KubeletBehaviour,
): Promise<void> {
  const { searchParams, pathname } = new URL(url, "https://kubelet");
  const asks = (name: string): boolean => searchParams.get(name) === "1";
  const wanted = { stdin: asks("input"), stdout: asks("output"), stderr: asks("error"), tty: asks("tty") };
  if (headers.upgrade === "websocket") {
    const protocols = webSocketRemoteCommandProtocols;
    const command = await remoteCommandOverWebSocket(
      { request: { method, headers } as never, socket, head },
      wanted,
      protocols,
    );
    if (command) await behaviour.command?.(command);
    return;
  }
  const forward = pathname.startsWith("/portForward");
  const protocol = forward ? "portforward.k8s.io" : "v4.channel.k8s.io";
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  if (forward) portForwardOverSpdy(socket, (connection) => behaviour.connection?.(connection), { head });
  else await behaviour.command?.(await remoteCommandOverSpdy(socket, wanted, protocol, { head }));
}

/** Upgrade headers of SPDY and WebSocket clients. */
export const spdy = {
  connection: "Upgrade",
  upgrade: "SPDY/3.1",
  "x-stream-protocol-version": ["v4.channel.k8s.io"],
};
export const webSocketHeaders = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

/** Collects the messages of a WebSocket client, by channel. */
export function channels(ws: WebSocket): {
  readonly text: Record<number, string>;
  readonly closed: Promise<unknown>;
} {
  const text: Record<number, string> = {};
  ws.on("message", (data: Buffer) => {
    text[data[0]!] = (text[data[0]!] ?? "") + data.subarray(1).toString();
  });
  return { text, closed: once(ws, "close") };
}
