import type { TLSSocket } from "node:tls";
import type { ApiRequest, Clock, Credential } from "@dray/client";
import { commonNameOf } from "../authentication/common-name.ts";
import type { FrontProxies } from "../authentication/front-proxies.ts";
import { subprotocolToken } from "../upgrade/request.ts";

/** Dependencies of the check of credentials. */
export interface CredentialParts {
  readonly clock: Clock;
  readonly proxies?: FrontProxies | undefined;
}

/**
 * Returns the credential of a client, in upstream's order: the headers of a front proxy, its certificate, its
 * token.
 */
export function credentialOf(
  socket: TLSSocket,
  request: Pick<ApiRequest, "headers" | "repeated">,
  { clock, proxies }: CredentialParts,
): Credential {
  const { headers } = request;
  const token = bearerToken(headers["authorization"]) ?? subprotocolToken({ headers });
  const peer = peerOf(socket, proxies);
  const isValid = clock.now() < peer.validUntil;
  const user = peer.frontProxy && isValid ? proxies?.user(request) : undefined;
  if (user !== undefined) return { type: "frontProxy", user };
  if (peer.credential !== undefined && isValid) return peer.credential;
  if (token !== undefined) return { type: "bearer", token };
  // A client with an untrusted certificate is not anonymous: it fails like one with an unknown token.
  return peer.anonymous ? { type: "none" } : { type: "bearer", token: "" };
}

/** The identity in the certificate of a connection; it does not change. */
interface Peer {
  /** It has no certificate, or a trusted one that names no user. */
  readonly anonymous: boolean;
  /** Its certificate is that of a front proxy. */
  readonly frontProxy: boolean;
  readonly credential?: Credential;
  /** Milliseconds since the epoch. A connection may outlive its certificate. */
  readonly validUntil: number;
}

const peers = new WeakMap<TLSSocket, Peer>();
/** Attribute of a certificate that contains the uid of its user (KEP-5311). */
const uidAttribute = "1.3.6.1.4.1.57683.2";

function peerOf(socket: TLSSocket, proxies: FrontProxies | undefined): Peer {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const certificate = socket.getPeerCertificate();
  const subject = (certificate?.subject ?? {}) as Record<string, string | string[] | undefined>;
  const commonName = commonNameOf(subject["CN"]);
  const uids = [subject[uidAttribute] ?? []].flat();
  const presented = certificate?.raw !== undefined;
  const isVerified = presented && socket.authorized;
  const uses = isVerified && proxies ? proxies.uses(socket) : { frontProxy: false, client: isVerified };
  const named = uses.client && commonName !== "";
  const validUntil = Date.parse(certificate?.valid_to ?? "");
  const peer: Peer = {
    anonymous: !presented || (uses.client && commonName === ""),
    frontProxy: uses.frontProxy,
    validUntil,
    // A certificate with several uids, or an empty one, is not accepted.
    ...(named && uids.length <= 1 && uids[0] !== ""
      ? {
          credential: {
            type: "certificate",
            commonName,
            organizations: [subject["O"] ?? []].flat(),
            ...(uids[0] === undefined ? {} : { uid: uids[0] }),
            fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
            validUntil,
          },
        }
      : {}),
  };
  peers.set(socket, peer);
  return peer;
}

/** Parses `Bearer X`, separated by one blank; ignores other schemes and an empty token. */
export function bearerToken(header: string | undefined): string | undefined {
  const [scheme = "", token] = (header ?? "").trim().split(" ");
  return scheme.toLowerCase() === "bearer" && token ? token : undefined;
}
