import type { TLSSocket } from "node:tls";
import type { ApiRequest, Credential } from "@dray/client";
import type { FrontProxies } from "../authentication/front-proxies.ts";
import { subprotocolToken } from "../upgrade/request.ts";

/**
 * What a client offers to be authenticated by, in the order in which upstream asks: the word of a front proxy, its
 * certificate, its token.
 */
export function credentialOf(
  socket: TLSSocket,
  request: Pick<ApiRequest, "headers" | "repeated">,
  proxies?: FrontProxies,
): Credential {
  const { headers } = request;
  const token = bearerToken(headers["authorization"]) ?? subprotocolToken({ headers });
  const peer = peerOf(socket, proxies);
  const isValid = Date.now() < peer.validUntil;
  const user = peer.frontProxy && isValid ? proxies?.user(request) : undefined;
  if (user !== undefined) return { type: "frontProxy", user };
  if (peer.credential !== undefined && isValid) return peer.credential;
  if (token !== undefined) return { type: "bearer", token };
  // Who shows a certificate that is not believed is not anonymous: it fails like a token that is not known.
  return peer.anonymous ? { type: "none" } : { type: "bearer", token: "" };
}

/** What the certificate of a connection says; it does not change. */
interface Peer {
  /** It shows no certificate, or a good one that names nobody. */
  readonly anonymous: boolean;
  /** It is that of a front proxy. */
  readonly frontProxy: boolean;
  readonly credential?: Credential;
  /** Milliseconds since the epoch. A connection may last longer than its certificate. */
  readonly validUntil: number;
}

const peers = new WeakMap<TLSSocket, Peer>();
/** Where a certificate holds the uid of its user (KEP-5311). */
const uidAttribute = "1.3.6.1.4.1.57683.2";

function peerOf(socket: TLSSocket, proxies: FrontProxies | undefined): Peer {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const certificate = socket.getPeerCertificate();
  const subject = (certificate?.subject ?? {}) as unknown as Record<string, string | string[] | undefined>;
  // Of several common names the last counts, as Go reads them.
  const commonName = [subject["CN"] ?? ""].flat().at(-1)!;
  const uids = [subject[uidAttribute] ?? []].flat();
  const presented = certificate?.raw !== undefined;
  const isVerified = presented && socket.authorized;
  const uses = isVerified && proxies ? proxies.uses(socket) : { frontProxy: false, client: isVerified };
  const named = uses.client && commonName !== "";
  const peer: Peer = {
    anonymous: !presented || (uses.client && commonName === ""),
    frontProxy: uses.frontProxy,
    validUntil: Date.parse(certificate?.valid_to ?? ""),
    // A certificate with several uids, or an empty one, is not believed.
    ...(named && uids.length <= 1 && uids[0] !== ""
      ? {
          credential: {
            type: "certificate",
            commonName,
            organizations: [subject["O"] ?? []].flat(),
            ...(uids[0] === undefined ? {} : { uid: uids[0] }),
            fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
          },
        }
      : {}),
  };
  peers.set(socket, peer);
  return peer;
}

/** `Bearer X`, one blank between them and whatever behind; other schemes and an empty token are no credential. */
export function bearerToken(header: string | undefined): string | undefined {
  const [scheme, token] = (header ?? "").trim().split(" ");
  return scheme!.toLowerCase() === "bearer" && token ? token : undefined;
}
