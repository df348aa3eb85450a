import { once } from "node:events";
import type { Clock } from "../base/clock.ts";
import { type Connection, errorText, pingInterval } from "./connection.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import type { Credentials } from "./credentials.ts";
import { ConnectionError } from "./exchange.ts";
import { http1Connection } from "./http1-connection.ts";
import { http2Connection } from "./http2-connection.ts";

const connectTimeout = 30_000;

/**
 * Connects with the protocol that the server supports. Rejects with `ConnectionError`, at once if the signal
 * aborts.
 */
export async function connect(
  server: URL,
  { options, credentials }: { readonly options: ConnectionOptions; readonly credentials: Credentials },
  clock: Clock,
  signal: AbortSignal,
): Promise<Connection> {
  if (server.protocol === "http:") return http1Connection(server, {});
  const tls = await import("node:tls");
  const port = Number(server.port === "" ? 443 : server.port);
  const host = server.hostname.replace(/^\[|\]$/g, "");
  const security = {
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(credentials.cert === undefined ? {} : { cert: credentials.cert }),
    ...(credentials.key === undefined ? {} : { key: credentials.key }),
    rejectUnauthorized: options.insecureSkipTlsVerify !== true,
    // An address is not valid as a server name.
    ...(options.tlsServerName !== undefined
      ? { servername: options.tlsServerName }
      : /^[\d.]+$|:/.test(host)
        ? {}
        : { servername: host }),
  };
  const socket = tls.connect({ host, port, ALPNProtocols: ["h2", "http/1.1"], ...security });
  const cancel = clock.after(connectTimeout, () => socket.destroy(new Error("no answer within 30 s")));
  const giveUp = (): void => void socket.destroy(new Error("the connection has been closed"));
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    await once(socket, "secureConnect");
  } catch (error) {
    throw new ConnectionError(`cannot connect to ${server.origin}: ${errorText(error)}`, { cause: error });
  } finally {
    cancel();
    signal.removeEventListener("abort", giveUp);
  }
  socket.setNoDelay(true);
  socket.setKeepAlive(true, pingInterval);
  if (socket.alpnProtocol === "h2") return http2Connection(server, socket, clock);
  socket.destroy();
  return http1Connection(server, security);
}
