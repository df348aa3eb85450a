/** Request header with the protocols of the client, and response header with the selected one. */
export const protocolHeader = "x-stream-protocol-version";
/** Response header of a refusal: the supported protocols. */
export const acceptedProtocolsHeader = "x-accepted-stream-protocol-versions";

/** Supported protocols of exec and attach over SPDY, in order of preference. */
export const remoteCommandProtocols = [
  "v4.channel.k8s.io",
  "v3.channel.k8s.io",
  "v2.channel.k8s.io",
  "channel.k8s.io",
] as const;

/** The protocol of port-forward over SPDY. */
export const portForwardProtocol = "portforward.k8s.io";

/** Header with the purpose of a stream: error, stdin, stdout, stderr, resize, or data of a port. */
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
 * Selects the first protocol of the client that the server supports. `requested` is the value of
 * `X-Stream-Protocol-Version` (several are joined by commas).
 * Upstream: apimachinery, httpstream.Handshake
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
