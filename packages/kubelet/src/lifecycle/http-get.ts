import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import type { HTTPGetAction } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";

/** Maximum number of bytes that are read of a body. Upstream: pkg/probe/http/http.go, maxRespBodyLength. */
const maxBodyBytes = 10 << 10;
const maxRedirects = 10;

/** The response after redirects. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

export interface HttpGet {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: NonNullable<HTTPGetAction["httpHeaders"]>;
  /** Value of User-Agent (`kube-PURPOSE/VERSION`) unless the headers have one. */
  readonly userAgent: string;
  /** Milliseconds for all redirects together. */
  readonly timeout: number;
  /** Returns the port at which the host serves a port. */
  readonly servedAt: (port: number) => number;
}

/** Connects with a port in another network. */
export type Dial = (host: string, port: number) => Promise<Socket>;

/**
 * Sends one request on a connection of its own, trusting any certificate, and follows redirects to the same
 * host. Rejects with an Error in the words of Go's HTTP client, which people search for.
 *
 * Upstream: pkg/probe/http/http.go, DoHTTPProbe, RedirectChecker; pkg/probe/http/request.go.
 */
export async function httpGet(get: HttpGet, clock: Clock, dial?: Dial): Promise<HttpAnswer> {
  const { scheme, port, path } = get;
  const host = get.host.includes(":") ? `[${get.host}]` : get.host;
  const first = `${scheme}://${host}:${port}${path.startsWith("/") || path === "" ? path : `/${path}`}`;
  const expired = new AbortController();
  const cancel = clock.after(get.timeout, () => expired.abort());
  let at = first;
  try {
    for (let count = 0; ; count++) {
      const url = new URL(at);
      const { status, location, body } = await send(url, get, expired.signal, dial);
      const next = status >= 300 && status < 400 && location ? URL.parse(location, url.href) : null;
      if (next === null || next.hostname !== new URL(first).hostname) return { status, body };
      if (count >= maxRedirects - 1) throw new Error(`stopped after ${maxRedirects} redirects`);
      at = next.href;
    }
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`Get "${at}": ${expired.signal.aborted ? timedOut : message}`, { cause: error });
  } finally {
    cancel();
  }
}

const timedOut = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

interface Answer extends HttpAnswer {
  readonly location: string | undefined;
}

async function send(
  url: URL,
  { headers, userAgent, servedAt }: HttpGet,
  signal: AbortSignal,
  dial: Dial | undefined,
): Promise<Answer> {
  const given: Record<string, string | string[]> = { "user-agent": userAgent, accept: "*/*" };
  const named = new Set<string>();
  for (const { name, value } of headers) {
    const key = name.toLowerCase();
    const before = named.has(key) ? [given[key] ?? []].flat() : [];
    given[key] = before.length > 0 ? [...before, value] : value;
    named.add(key);
  }
  if (given["accept"] === "") delete given["accept"];
  // In Go, an empty one means the address.
  given["host"] ||= url.host;
  const isTls = url.protocol === "https:";
  const common = { headers: given, method: "GET", rejectUnauthorized: false, signal } as const;
  const dialed = dial === undefined ? undefined : await dialUrl(url, dial, isTls);
  // An agent would make the connection itself.
  const options =
    dialed === undefined
      ? ({ ...common, agent: false, port: servedAt(portOf(url)) } as const)
      : { ...common, createConnection: () => dialed };
  return new Promise((resolve, reject) => {
    const request = (isTls ? httpsRequest : httpRequest)(url, options);
    request.on("error", (error) => reject(new Error(goText(error, url), { cause: error })));
    request.on("response", (response) => {
      read(response).then((body) => {
        request.destroy();
        resolve({ status: response.statusCode ?? 0, location: response.headers.location, body });
      }, reject);
    });
    request.end();
  });
}

async function dialUrl(url: URL, dial: Dial, isTls: boolean): Promise<Socket> {
  const { hostname } = url;
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  try {
    const socket = await dial(host, portOf(url));
    return isTls ? tlsConnect({ socket, rejectUnauthorized: false }) : socket;
  } catch (error) {
    throw new Error(dialText(error as Error, `${hostname}:${portOf(url)}`), { cause: error });
  }
}

function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === "https:" ? 443 : 80);
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxBodyBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBodyBytes).toString("utf8");
}

/** The message of Go's dialer for an error of the system. */
export function dialText(error: NodeJS.ErrnoException, address: string): string {
  const texts: Readonly<Record<string, string>> = {
    ECONNREFUSED: "connect: connection refused",
    EHOSTUNREACH: "connect: no route to host",
    ENETUNREACH: "connect: network is unreachable",
    ECONNRESET: "connect: connection reset by peer",
    ETIMEDOUT: "i/o timeout",
  };
  const known = texts[error.code ?? ""];
  if (known !== undefined) return `dial tcp ${address}: ${known}`;
  if (error.code === "ENOTFOUND") return `dial tcp: lookup ${address.replace(/:\d+$/, "")}: no such host`;
  return `dial tcp ${address}: ${error.message}`;
}

function goText(error: NodeJS.ErrnoException, url: URL): string {
  if (error.code === "ECONNRESET") return "EOF";
  if (error.code?.startsWith("ERR_SSL") || error.code === "EPROTO")
    return "http: server gave HTTP response to HTTPS client";
  if (error.syscall === "connect" || error.syscall === "getaddrinfo")
    return dialText(error, `${url.hostname}:${portOf(url)}`);
  return error.message;
}
