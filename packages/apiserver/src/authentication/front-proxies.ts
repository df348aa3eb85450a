import { X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import type { ApiRequest, UserInfo } from "@dray/client";
import { commonNameOf } from "./common-name.ts";
import { type RequestHeader, requestHeaderUser } from "./request-header.ts";

/** Uses of the client certificate of a connection. */
export interface CertificateUses {
  /** It belongs to a front proxy, whose headers name the user. */
  readonly frontProxy: boolean;
  /** It authenticates its own user. */
  readonly client: boolean;
}

/**
 * Distinguishes the certificates of front proxies from those of users: two authorities, which may be the same
 * one.
 */
export class FrontProxies {
  readonly #options: RequestHeader;
  readonly #ofProxies: ReadonlySet<string>;
  readonly #ofClients: ReadonlySet<string>;

  /** `clientAuthority`: PEM, signs the client certificates of users. */
  constructor(options: RequestHeader, clientAuthority: string) {
    this.#options = options;
    this.#ofProxies = fingerprints(options.clientAuthority);
    this.#ofClients = fingerprints(clientAuthority);
  }

  /** The connection's certificate must have been verified against either authority. */
  uses(socket: TLSSocket): CertificateUses {
    const chain = [...chainOf(socket.getPeerCertificate(true))];
    const commonName = commonNameOf(chain[0]?.subject?.CN);
    const { allowedNames = [] } = this.#options;
    const isAllowed = allowedNames.length === 0 || allowedNames.includes(commonName);
    const signedBy = (authorities: ReadonlySet<string>): boolean =>
      chain.some(({ fingerprint256 }) => authorities.has(fingerprint256));
    return { frontProxy: isAllowed && signedBy(this.#ofProxies), client: signedBy(this.#ofClients) };
  }

  /** Returns the user that a front proxy names; undefined if it names none. */
  user(request: Pick<ApiRequest, "headers" | "repeated">): UserInfo | undefined {
    return requestHeaderUser(request, this.#options);
  }
}

function* chainOf(certificate: DetailedPeerCertificate | undefined): Generator<DetailedPeerCertificate> {
  for (let current = certificate; current?.raw !== undefined; ) {
    yield current;
    const issuer: DetailedPeerCertificate | undefined = current.issuerCertificate;
    current = issuer === current ? undefined : issuer;
  }
}

/** Returns the SHA-256 fingerprint of each certificate of a PEM text, as formatted by Node. */
function fingerprints(text: string): ReadonlySet<string> {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return new Set(blocks.map((block) => new X509Certificate(block).fingerprint256));
}
