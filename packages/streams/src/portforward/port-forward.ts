import type { Duplex, Writable } from "node:stream";
import { streamTypeHeader } from "../remotecommand/protocol.ts";
import { type SpdyOptions, type SpdySession, spdySession } from "../spdy/session.ts";
import type { SpdyStream } from "../spdy/stream.ts";

/** One connection of a port-forward client to a port of the pod. */
export interface ForwardedConnection {
  readonly port: number;
  readonly requestId: string;
  /** The data of the connection, in both directions. */
  readonly data: Duplex;
  /** The error message; empty on success. */
  readonly error: Writable;
}

/**
 * Takes over a connection that was upgraded to SPDY/3.1 for port-forward (`portforward.k8s.io`). Each
 * connection of the client consists of a stream for its data and one for an error, in either order; their
 * header `requestID` joins them. Refuses streams with invalid headers.
 */
export function portForwardOverSpdy(
  socket: Duplex,
  onConnection: (connection: ForwardedConnection) => void,
  options: Pick<SpdyOptions, "head" | "log"> = {},
): SpdySession {
  const halves = new Map<string, SpdyStream>();
  return spdySession(socket, "server", {
    ...options,
    onStream(stream) {
      const port = portOf(stream);
      const type = typeOf(stream);
      const requestId = stream.headers["requestid"] || oldRequestId(stream, type);
      const other = halves.get(requestId);
      if (other === undefined) {
        halves.set(requestId, stream);
        stream.once("close", () => {
          if (halves.get(requestId) === stream) halves.delete(requestId);
        });
        return;
      }
      if (typeOf(other) === type) {
        throw new Error(`error processing stream for request ${requestId}: ${type} stream already assigned`);
      }
      halves.delete(requestId);
      const [data, error] = type === "data" ? [stream, other] : [other, stream];
      const connection = { port: type === "data" ? port : portOf(other), requestId, data, error };
      // After the response to the second stream has been sent.
      setImmediate(onConnection, connection);
    },
  });
}

/**
 * Returns the request ID of a stream without one: old clients open the stream for the error directly before
 * the one for the data.
 */
function oldRequestId(stream: SpdyStream, type: string): string {
  return String(type === "error" ? stream.id : stream.id - 2);
}

function portOf({ headers }: SpdyStream): number {
  const text = headers["port"] ?? "";
  if (text === "") throw new Error('"port" header is required');
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new Error(`unable to parse ${JSON.stringify(text)} as a port`);
  }
  if (port < 1) throw new Error(`port ${JSON.stringify(text)} must be > 0`);
  return port;
}

function typeOf({ headers }: SpdyStream): string {
  const type = headers[streamTypeHeader] ?? "";
  if (type === "") throw new Error('"streamType" header is required');
  if (type !== "error" && type !== "data") throw new Error(`invalid stream type ${JSON.stringify(type)}`);
  return type;
}
