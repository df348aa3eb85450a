import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { StatusError } from "@dray/api";
import { TokenReview } from "@dray/api/authentication/v1";
import { SubjectAccessReview } from "@dray/api/authorization/v1";
import type { Client } from "@dray/client";

interface User {
  readonly username: string;
  readonly groups: readonly string[];
}

/** Who sends the request: a client certificate that the cluster's CA has signed, or a bearer token. */
export async function authenticate(request: IncomingMessage, client: Client): Promise<User> {
  const socket = request.socket as TLSSocket;
  if (socket.authorized) {
    const subject = socket.getPeerCertificate().subject as { CN?: string; O?: string | string[] } | undefined;
    if (subject?.CN) {
      const { O: groups = [] } = subject;
      return {
        username: subject.CN,
        groups: [...(Array.isArray(groups) ? groups : [groups]), "system:authenticated"],
      };
    }
  }
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "");
  if (bearer !== null) {
    const { status } = await client
      .resource(TokenReview)
      .create({ metadata: {}, spec: { token: bearer[1] ?? "" } });
    if (status?.authenticated && status.user?.username)
      return { username: status.user.username, groups: status.user.groups ?? [] };
  }
  throw StatusError.of("Unauthorized", "Unauthorized");
}

/** The part of the node that a path belongs to, for RBAC (`nodes/log`, `nodes/metrics`, else `nodes/proxy`). */
function subresourceOf(path: string): string {
  if (path.startsWith("/metrics")) return "metrics";
  if (path.startsWith("/logs")) return "log";
  if (path.startsWith("/stats")) return "stats";
  if (path.startsWith("/healthz")) return "healthz";
  if (path === "/configz") return "configz";
  if (path === "/pods" || path === "/runningpods") return "pods";
  return "proxy";
}

const fineGrained: ReadonlySet<string> = new Set(["healthz", "pods", "configz"]);

const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** Asks the API server whether the user may; throws Forbidden. Fine-grained resources count beside nodes/proxy (KEP-2862). */
export async function authorize(
  user: User,
  method: string,
  path: string,
  nodeName: string,
  client: Client,
): Promise<void> {
  const verb = verbs[method] ?? method.toLowerCase();
  const subresource = subresourceOf(path);
  const asked = fineGrained.has(subresource) ? [subresource, "proxy"] : [subresource];
  for (const one of asked) {
    const { status } = await client.resource(SubjectAccessReview).create({
      metadata: {},
      spec: {
        user: user.username,
        groups: [...user.groups],
        resourceAttributes: { verb, version: "v1", resource: "nodes", subresource: one, name: nodeName },
      },
    });
    if (status?.allowed) return;
  }
  throw StatusError.of(
    "Forbidden",
    `Forbidden (user=${user.username}, verb=${verb}, resource=nodes, subresource(s)=[${asked.join(" ")}])`,
  );
}
