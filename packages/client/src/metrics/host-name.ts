import { isIP } from "node:net";
import { hostname } from "node:os";

/** Top-level domains that public DNS does not have: RFC 6761, RFC 6762, `internal`; `svc` of clusters. */
const privateDomains = new Set(["localhost", "local", "internal", "test", "svc"]);

/** A request of Node's HTTP server. */
interface ReceivedRequest {
  readonly headers: { readonly host?: string | undefined };
  readonly socket: { readonly localAddress?: string | undefined };
}

/**
 * Returns a message if a request came to a loopback address under a public name, undefined otherwise.
 *
 * Servers without TLS and authentication are for programs of this machine. A page of another site could read
 * what they serve all the same: its own name leads to 127.0.0.1 when its DNS server says so (DNS rebinding),
 * and for a browser the server is then the page's own.
 */
export function publicHostName({ headers, socket }: ReceivedRequest): string | undefined {
  const { localAddress = "" } = socket;
  if (!/^(::ffff:)?127\.|^::1$/.test(localAddress)) return undefined;
  const name = (headers.host ?? "").replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  if (isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || !name.includes(".")) return undefined;
  if (privateDomains.has(name.slice(name.lastIndexOf(".") + 1)) || name === hostname().toLowerCase())
    return undefined;
  return `the host name ${JSON.stringify(name.slice(0, 253))} is not one of this machine: use localhost or ${localAddress}\n`;
}
