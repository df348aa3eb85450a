/**
 * Header of a request that names the protocols its sender speaks, and of the answer that names the chosen
 * one.
 */
export const protocolHeader = "x-stream-protocol-version";
/** Header of a refusal: the protocols that would have been accepted. */
export const acceptedProtocolsHeader = "x-accepted-stream-protocol-versions";

/** Protocols of exec and attach over SPDY that a kubelet speaks, the best first. */
export const remoteCommandProtocols = [
  "v4.channel.k8s.io",
  "v3.channel.k8s.io",
  "v2.channel.k8s.io",
  "channel.k8s.io",
] as const;

/** The protocol of port-forward over SPDY. */
export const portForwardProtocol = "portforward.k8s.io";

/** The header of a stream that says what it is for: error, stdin, stdout, stderr, resize; data of a port. */
export const streamTypeHeader = "streamtype";

export type Handshake =
  | { readonly protocol: string }
  | {
      readonly protocol?: never;
      readonly status: 400 | 403;
      readonly message: string;
      /** Sent as repeated headers `X-Accepted-Stream-Protocol-Versions`. */
      readonly accepted: readonly string[];
    };

/**
 * Chooses the protocol of a stream: the first of the client's that the server speaks. `requested` is the
 * value of `X-Stream-Protocol-Version` (several are joined by commas). The refusals are those of
 * `httpstream.Handshake`.
 */
export function handshake(requested: string | undefined, supported: readonly string[]): Handshake {
  const refuse = (status: 400 | 403, why: string): Handshake => ({
    status,
    message: `unable to upgrade: ${why}`,
    accepted: status === 403 ? supported : [],
  });
  if (requested === undefined) {
    return refuse(400, "header X-Stream-Protocol-Version does not exist in request");
  }
  const wanted = requested
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  if (wanted.length === 0) {
    return refuse(400, `header X-Stream-Protocol-Version contains [${requested}], but no valid protocols`);
  }
  const protocol = wanted.find((each) => supported.includes(each));
  if (protocol !== undefined) return { protocol };
  const both = `client supports [${wanted.join(" ")}], server accepts [${supported.join(" ")}]`;
  return refuse(403, `unable to negotiate protocol: ${both}`);
}
