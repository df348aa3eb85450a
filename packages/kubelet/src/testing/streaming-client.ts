import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { Socket } from "node:net";
import { type SpdySession, spdySession } from "@dray/streams";
import { WebSocket } from "ws";
import type { TestCluster } from "./cluster.ts";

/** Result of an upgrade: the connection, or a refusal. */
export type UpgradeAnswer =
  | {
      readonly status: 101;
      readonly protocol: string;
      readonly session: SpdySession;
      readonly socket: Socket;
    }
  | { readonly status: number; readonly text: string; readonly socket?: never };

/** Requests SPDY/3.1 of a node's endpoint, as the API server does. */
export function upgradeTo(
  { cluster, port }: { readonly cluster: TestCluster; readonly port: number },
  path: string,
  headers: Readonly<Record<string, string | readonly string[]>>,
  method = "POST",
): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    const call = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      ca: cluster.authority.certificate,
      ...cluster.clientCertificate,
      agent: false,
      headers: { connection: "Upgrade", upgrade: "SPDY/3.1", ...headers } as Record<string, string>,
    });
    call.on("error", reject);
    call.on("response", (response: IncomingMessage) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.on("upgrade", (response: IncomingMessage, socket: Socket, head: Buffer) => {
      const protocol = response.headers["x-stream-protocol-version"] as string;
      resolve({ status: 101, protocol, socket, session: spdySession(socket, "client", { head }) });
    });
    call.end();
  });
}

/** Opens a WebSocket at a node's endpoint, and collects its messages by their first byte. */
export function webSocketTo(
  cluster: TestCluster,
  port: number,
  path: string,
  protocol: string,
): Promise<{ readonly socket: WebSocket; text(channel: number): string; readonly closed: Promise<unknown> }> {
  const { cert, key } = cluster.clientCertificate;
  const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, [protocol], {
    ca: cluster.authority.certificate,
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  });
  const messages: Buffer[] = [];
  socket.on("message", (data: Buffer) => messages.push(data));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const text = (channel: number): string =>
    Buffer.concat(messages.filter(([first]) => first === channel).map((data) => data.subarray(1))).toString(
      "utf8",
    );
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve({ socket, text, closed }));
    socket.once("error", reject);
  });
}
