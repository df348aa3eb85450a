import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Clock } from "@dray/client";

/** How long the listener waits for its clients, in milliseconds. */
export interface Timeouts {
  /** For a TLS handshake, and for the header of a request over HTTP/1.1. */
  readonly header: number;
  /** For the next request of a connection that has none. */
  readonly idle: number;
  /** For the body of a request; for a client that takes nothing of its watch; beside `minRate` for one answer. */
  readonly progress: number;
}

/** Upstream: k8s.io/apiserver/pkg/server/secure_serving.go, Serve; --request-timeout. */
export const defaultTimeouts: Timeouts = { header: 32_000, idle: 90_000, progress: 60_000 };

/** Bytes of a second that a client must take of its answer, beyond the first `progress` milliseconds. */
export const minRate = 64 * 1024;

/** Milliseconds that an idle connection has to end after it was asked to. */
const farewell = 5_000;

/** Ends a session of HTTP/2 that has had no request open for the idle time: it says so to the client, then closes. */
export function endWhenIdle(session: ServerHttp2Session, clock: Clock, idle: number): void {
  let open = 0;
  let idleSince = clock.now();
  session.on("stream", (stream: ServerHttp2Stream) => {
    open++;
    stream.once("close", () => {
      open--;
      idleSince = clock.now();
    });
  });
  const check = (): void => {
    const left = open > 0 ? idle : idleSince + idle - clock.now();
    if (left > 0) {
      cancel = clock.after(left, check);
      return;
    }
    session.close();
    cancel = clock.after(farewell, () => session.destroy());
  };
  let cancel = clock.after(idle, check);
  session.once("close", () => cancel());
}
