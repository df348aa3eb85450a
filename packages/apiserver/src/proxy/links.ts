import { posix } from "node:path";

/** The address of a proxied server as seen by itself and by its clients. */
export interface ProxyLocation {
  /** Path of the proxy, without a trailing slash: `/api/v1/namespaces/n/pods/p/proxy`. */
  readonly prefix: string;
  /** `host:port` to which the request was passed on. */
  readonly backend: string;
  /** The Host header of the client. */
  readonly requestHost: string;
}

/**
 * Rewrites a URL of a page so that it leads through the proxy again: one with an absolute path on the same
 * host. Others are returned unchanged, even invalid ones. Each character is a byte (Latin-1).
 *
 * Upstream: k8s.io/apimachinery, pkg/util/proxy/transport.go, rewriteURL
 */
export function rewriteLink(link: string, { prefix, backend, requestHost }: ProxyLocation): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Go's url.Parse rejects them.
  if (/[\0-\x1f\x7f]/.test(link)) return link;
  const parts = /^(?:([a-z][a-z\d+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/i.exec(link);
  if (parts === null) return link;
  const [, scheme, host = "", path = "", rest = ""] = parts;
  if (host !== "" && host !== backend && host !== requestHost) return link;
  if (!path.startsWith("/")) return link;
  const decoded = decodedPath(path);
  if (decoded === undefined) return link;
  const origin =
    host !== "" && host === requestHost ? `${scheme === undefined ? "" : `${scheme}:`}//${host}` : "";
  const target = decoded.startsWith(prefix) ? path : encodedPath(posix.join(prefix, decoded));
  return `${origin}${target}${rest}`;
}

/** Undefined if there is a percent sign without a valid escape. */
function decodedPath(path: string): string | undefined {
  if (/%(?![\da-f]{2})/i.test(path)) return undefined;
  return path.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Escapes a path as Go's url.URL does. Each character is a byte. */
export function encodedPath(path: string): string {
  return path.replace(
    /[^A-Za-z\d\-_.~$&+,/:;=@]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}
