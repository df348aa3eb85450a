import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { StatusError } from "@dray/api";
import { TokenReview } from "@dray/api/authentication/v1";
import { SubjectAccessReview } from "@dray/api/authorization/v1";
import type { Client } from "@dray/client";

/** User of a request, in the fields of TokenReview and SubjectAccessReview. */
interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, string[]>>;
}

/**
 * Authenticates a request by a client certificate of the cluster's CA, or a bearer token. Rejects with 401:
 * anonymous requests are denied, as by default upstream.
 */
export async function authenticate(request: IncomingMessage, client: Client): Promise<User> {
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

/** A part of the node's endpoints. */
interface Part {
  readonly path: string;
  /** Any of these permits the request; fine-grained ones count beside `proxy` (KEP-2862). */
  readonly subresources: readonly string[];
}

/** Upstream: pkg/kubelet/server/auth.go, GetRequestAttributes. */
const parts: readonly Part[] = [
  { path: "/pods", subresources: ["pods", "proxy"] },
  { path: "/healthz", subresources: ["healthz", "proxy"] },
  { path: "/configz", subresources: ["configz", "proxy"] },
  { path: "/runningpods", subresources: ["pods", "proxy"] },
  { path: "/stats", subresources: ["stats"] },
  { path: "/metrics", subresources: ["metrics"] },
  { path: "/logs", subresources: ["log"] },
  { path: "/checkpoint", subresources: ["checkpoint"] },
  { path: "/statusz", subresources: ["statusz"] },
  { path: "/flagz", subresources: ["configz"] },
];

function subresourcesOf(path: string): readonly string[] {
  const found = parts.find((part) => path === part.path || path.startsWith(`${part.path}/`));
  return found?.subresources ?? ["proxy"];
}

const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/**
 * Authorizes the request with the API server. `path` is decoded, as in routing. Rejects with
 * Forbidden.
 */
export async function authorize(
  user: User,
  { method, path }: { readonly method: string; readonly path: string },
  { nodeName, client }: { readonly nodeName: string; readonly client: Client },
): Promise<void> {
  const verb = verbs[method] ?? method.toLowerCase();
  const subresources = subresourcesOf(path);
  const { username, uid, groups, extra } = user;
  for (const subresource of subresources) {
    const { status } = await client.resource(SubjectAccessReview).create({
      metadata: {},
      spec: {
        user: username,
        groups: [...groups],
        ...(uid && { uid }),
        ...(extra && { extra }),
        resourceAttributes: { verb, version: "v1", resource: "nodes", subresource, name: nodeName },
      },
    });
    if (status?.allowed) return;
  }
  throw StatusError.of(
    "Forbidden",
    `Forbidden (user=${username}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(" ")}])`,
  );
}
