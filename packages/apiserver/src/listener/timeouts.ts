import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Clock } from "@dray/client";

/** Timeouts of the listener for its clients, in milliseconds. */
export interface Timeouts {
  /** For a TLS handshake, and for the headers of a request over HTTP/1.1. */
  readonly header: number;
  /** For the next request of an idle connection. */
  readonly idle: number;
  /**
   * For the body of a request; for a client that reads nothing of its watch; and, in addition to `minRate`,
   * for one response.
   */
  readonly progress: number;
}

/** Upstream: k8s.io/apiserver/pkg/server/secure_serving.go, Serve; --request-timeout. */
export const defaultTimeouts: Timeouts = { header: 32_000, idle: 90_000, progress: 60_000 };

/**
 * Minimum bytes per second that a client must read of its response, after the first `progress` milliseconds.
 */
export const minRate = 64 * 1024;

/** Milliseconds in which an idle connection must close after GOAWAY. */
const closeTimeout = 5_000;

/** Ends an HTTP/2 session that had no open request for the idle time: sends GOAWAY, then closes. */
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
    const remaining = open > 0 ? idle : idleSince + idle - clock.now();
    if (remaining > 0) {
      cancel = clock.after(remaining, check);
      return;
    }
    session.close();
    cancel = clock.after(closeTimeout, () => session.destroy());
  };
  let cancel = clock.after(idle, check);
  session.once("close", () => cancel());
}
