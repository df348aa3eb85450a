import type * as http2 from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Clock } from "./clock.ts";
import { aborted, type Link, lost, pingInterval } from "./link.ts";

const streamWindow = 1 << 20;
const sessionWindow = 16 << 20;

/** One HTTP/2 connection over a socket, which is given up when it falls silent. */
export async function http2Link(server: URL, socket: TLSSocket, clock: Clock): Promise<Link> {
  const { connect, constants } = await import("node:http2");
  const session = connect(server.origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: streamWindow },
    maxSessionMemory: 1000,
  });
  session.once("connect", () => {
    if (!session.destroyed) session.setLocalWindowSize(sessionWindow);
  });
  let failure: unknown;
  session.on("error", (error) => {
    failure = error;
  });
  watchLife(session, socket, clock);

  return {
    get usable() {
      return !session.closed && !session.destroyed;
    },
    exchange(method, path, headers, body, signal) {
      return new Promise((resolve, reject) => {
        let stream: http2.ClientHttp2Stream;
        try {
          stream = session.request(
            { ":method": method, ":path": path, ...headers },
            { endStream: body === undefined },
          );
        } catch (error) {
          return reject(lost(server, error));
        }
        const cancel = (): void => {
          if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
          stream.destroy();
        };
        signal.addEventListener("abort", cancel, { once: true });
        stream.once("close", () => {
          signal.removeEventListener("abort", cancel);
          // Nothing happens if the answer has begun.
          reject(signal.aborted ? aborted(signal) : lost(server, failure));
        });
        stream.on("error", (error) => {
          failure ??= error;
        });
        stream.once("response", (fields) => {
          const status = Number(fields[":status"]);
          const head: Record<string, string | readonly string[]> = {};
          for (const [name, value] of Object.entries(fields))
            if (value !== undefined && !name.startsWith(":")) head[name] = value;
          resolve({ status, headers: head, body: stream, cancel });
        });
        if (body !== undefined) stream.end(body);
      });
    },
    close(error) {
      session.destroy(error);
    },
  };
}

/** Pings a silent connection and ends it if no answer comes. */
function watchLife(session: http2.ClientHttp2Session, socket: TLSSocket, clock: Clock): void {
  let read = socket.bytesRead;
  const check = (): void => {
    if (session.destroyed) return;
    if (socket.bytesRead !== read) {
      read = socket.bytesRead;
      cancel = clock.after(pingInterval, check);
      return;
    }
    const giveUp = clock.after(pingInterval, () =>
      session.destroy(new Error(`no answer to a ping for ${pingInterval / 1000} s`)),
    );
    cancel = giveUp;
    session.ping((error) => {
      giveUp();
      if (error !== null) return;
      read = socket.bytesRead;
      cancel = clock.after(pingInterval, check);
    });
  };
  let cancel = clock.after(pingInterval, check);
  session.once("close", () => cancel());
}
