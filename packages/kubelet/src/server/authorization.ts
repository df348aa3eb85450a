import { StatusError } from "@dray/api";
import { type Client, isAllowed, type RequestUser } from "@dray/client";

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
  user: RequestUser,
  { method, path }: { readonly method: string; readonly path: string },
  { nodeName, client }: { readonly nodeName: string; readonly client: Client },
): Promise<void> {
  const verb = verbs[method] ?? method.toLowerCase();
  const subresources = subresourcesOf(path);
  for (const subresource of subresources) {
    const resourceAttributes = { verb, version: "v1", resource: "nodes", subresource, name: nodeName };
    if (await isAllowed(client, user, { resourceAttributes })) return;
  }
  throw StatusError.of(
    "Forbidden",
    `Forbidden (user=${user.username}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(" ")}])`,
  );
}
