import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { request as secureRequest } from "node:https";
import { isIP } from "node:net";
import { posix } from "node:path";
import { pipeline, type Readable } from "node:stream";
import { StatusError } from "@dray/api";
import type { ApiRequest, ApiResponse } from "@dray/client";
import { isHtml, requestHeaders, responseHeaders } from "./headers.ts";
import { HtmlLinks } from "./html-links.ts";
import { dialError, type Target, tlsOf } from "./kubelet.ts";
import { encodedPath, type ProxyLocation, rewriteLink } from "./links.ts";

/** The requested path and query of a target. */
export interface Location {
  /** Decoded; empty or beginning with a slash. */
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
  /** Path of the proxy itself, without a trailing slash. */
  readonly prefix: string;
}

/**
 * Passes a request on and returns the response, with links that lead through the proxy. Rejects with 503 if
 * the target cannot be reached.
 *
 * Upstream: k8s.io/apimachinery, pkg/util/proxy/transport.go, RoundTrip
 */
export async function forward(target: Target, sent: ApiRequest, location: Location): Promise<ApiResponse> {
  const { path, query, prefix } = location;
  // Each character of the path is a byte from here on.
  const escaped = encodedPath(Buffer.from(path || "/").toString("latin1"));
  const headers = requestHeaders(sent, posix.join(prefix, escaped));
  const response = await answerOf(target, sent, `${escaped}${query}`, headers);
  response.on("error", () => {});
  const place: ProxyLocation = {
    prefix,
    backend: hostAndPort(target),
    requestHost: sent.headers["host"] ?? "",
  };
  const passed = responseHeaders(response.headersDistinct);
  const [redirect] = passed["location"] ?? [];
  if (redirect) passed["location"] = [rewriteLink(redirect, place)];
  const status = response.statusCode ?? 502;
  if (redirect || sent.method === "HEAD" || !isHtml(response.headers))
    return { type: "bytes", status, headers: passed, chunks: response };
  const chunks = await rewritten(response, new HtmlLinks((link) => rewriteLink(link, place)));
  if (chunks !== response) delete passed["content-length"];
  return { type: "bytes", status, headers: passed, chunks };
}

/** Returns `host:port` as in the URL of the target. */
function hostAndPort({ host, port }: Target): string {
  const shown = host.includes(":") ? `[${host}]` : host;
  return port === "" ? shown : `${shown}:${port}`;
}

/** Methods that may be retried if a kept-alive connection turns out to be closed. */
const idempotent = new Set(["GET", "HEAD", "OPTIONS"]);

async function answerOf(
  target: Target,
  sent: ApiRequest,
  path: string,
  headers: OutgoingHttpHeaders,
): Promise<IncomingMessage> {
  const { scheme, host, port, client } = target;
  const secure = scheme === "https";
  const portNumber = port || (secure ? "443" : "80");
  if (!/^\d{1,5}$/.test(portNumber) || Number(portNumber) > 65_535) throw unknownPort(portNumber);
  // Imported lazily: node:http loads all of fetch, a good part of the start-up time.
  const send = secure ? secureRequest : (await import("node:http")).request;
  const repeatable = idempotent.has(sent.method);
  return new Promise((resolve, reject) => {
    const ask = (): void => {
      const call = send({
        host,
        port: portNumber,
        method: sent.method,
        path,
        headers,
        signal: sent.signal,
        ...(repeatable ? {} : { agent: false }),
        // The Host header is the client's; the certificate is that of the server.
        ...(secure ? { ...tlsOf(client ?? {}), servername: isIP(host) === 0 ? host : "" } : {}),
      });
      call.once("error", (error: NodeJS.ErrnoException) => {
        if (repeatable && call.reusedSocket && error.code === "ECONNRESET") ask();
        else reject(unreachable(dialError(error, host, portNumber)));
      });
      call.once("response", resolve);
      call.end(sent.body instanceof Uint8Array && sent.body.length > 0 ? sent.body : undefined);
    };
    ask();
  });
}

function unreachable(cause: string): StatusError {
  return StatusError.of("ServiceUnavailable", `error trying to reach service: ${cause}`);
}

/**
 * The port of a pod is a number: names would be those of /etc/services, such as `http`, of which Dray has no
 * list.
 */
function unknownPort(port: string): StatusError {
  return unreachable(
    /^\d+$/.test(port)
      ? `dial tcp: address ${port}: invalid port`
      : `dial tcp: lookup tcp/${port}: unknown port`,
  );
}

/**
 * Rewrites the links of a page, in its content encoding. A page in an unknown encoding is returned unchanged.
 */
async function rewritten(response: IncomingMessage, links: HtmlLinks): Promise<AsyncIterable<Uint8Array>> {
  const encoding = response.headers["content-encoding"] ?? "";
  const rewrite = (source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> => withLinks(source, links);
  if (encoding === "") return rewrite(response);
  const { createDeflateRaw, createGunzip, createGzip, createInflateRaw } = await import("node:zlib");
  const ignored = (): void => {};
  switch (encoding) {
    case "gzip":
      return pipeline(response, createGunzip(), rewrite, createGzip(), ignored);
    // Go's deflate has no zlib header.
    case "deflate":
      return pipeline(response, createInflateRaw(), rewrite, createDeflateRaw({ level: 9 }), ignored);
    default:
      return response satisfies Readable;
  }
}

async function* withLinks(source: AsyncIterable<Uint8Array>, links: HtmlLinks): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    const text = links.write(Buffer.from(chunk).toString("latin1"));
    if (text !== "") yield Buffer.from(text, "latin1");
  }
  const rest = links.end();
  if (rest !== "") yield Buffer.from(rest, "latin1");
}
