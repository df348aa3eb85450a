import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { StatusError } from "@dray/api";
import { TokenReview } from "@dray/api/authentication/v1";
import { SubjectAccessReview, type SubjectAccessReviewSpec } from "@dray/api/authorization/v1";
import type { Client } from "../client/client.ts";

/** User of a request, in the fields of TokenReview and SubjectAccessReview. */
export interface RequestUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, string[]>>;
}

/**
 * Authenticates a request to a component by a client certificate of the cluster's CA, or by a bearer token
 * that the API server reviews. Rejects with 401: anonymous requests are denied.
 *
 * Upstream: apiserver/pkg/authentication/authenticatorfactory, DelegatingAuthenticatorConfig.
 */
export async function authenticate(request: IncomingMessage, client: Client): Promise<RequestUser> {
  const socket = request.socket as TLSSocket;
  if (socket.authorized) {
    const subject = socket.getPeerCertificate().subject as
      | { CN?: string | string[]; O?: string | string[] }
      | undefined;
    // As in Go, the last of several common names counts.
    const username = list(subject?.CN).at(-1);
    if (username) return { username, groups: [...list(subject?.O), "system:authenticated"] };
  }
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "");
  if (bearer !== null) {
    const { status } = await client
      .resource(TokenReview)
      .create({ metadata: {}, spec: { token: bearer[1] ?? "" } });
    const { username, uid, groups = [], extra } = status?.user ?? {};
    if (status?.authenticated && username)
      return { username, groups, ...(uid && { uid }), ...(extra && { extra }) };
  }
  throw StatusError.of("Unauthorized", "Unauthorized");
}

const list = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

/** Attributes of a request, as SubjectAccessReview has them. */
export type AccessAttributes = Pick<SubjectAccessReviewSpec, "resourceAttributes" | "nonResourceAttributes">;

/** Asks the API server whether it allows the user something. */
export async function isAllowed(
  client: Client,
  { username, uid, groups, extra }: RequestUser,
  attributes: AccessAttributes,
): Promise<boolean> {
  const { status } = await client.resource(SubjectAccessReview).create({
    metadata: {},
    spec: {
      user: username,
      groups: [...groups],
      ...(uid && { uid }),
      ...(extra && { extra }),
      ...attributes,
    },
  });
  return status?.allowed === true;
}
