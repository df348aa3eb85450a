import { createHmac } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { StatusError } from "@dray/api";
import { ConfigMap, Secret } from "@dray/api/core/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { dataOf, expiryOf, isBootstrapToken } from "./token.ts";

const clusterInfo = { namespace: "kube-public", name: "cluster-info" };
const signaturePrefix = "jws-kubeconfig-";

/**
 * Signs the kubeconfig in ConfigMap `kube-public/cluster-info` with each bootstrap token, so that a node that
 * knows a token can trust it.
 *
 * Upstream: pkg/controller/bootstrap/bootstrapsigner.go.
 */
export async function startBootstrapSigner(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const secrets = informers.of(Secret);
  const maps = informers.of(ConfigMap);
  await synced(context, [secrets, maps]);
  const queues = controllerQueues(context);
  const queue = queues.queue("bootstrap_signer_queue", reconcile, 1);
  const secretChanged = (secret: Secret): void => {
    if (isBootstrapToken(secret)) queue.add(clusterInfo.name);
  };
  secrets.handle({ add: secretChanged, update: secretChanged, delete: secretChanged });
  const mapChanged = ({ metadata: { namespace, name } }: ConfigMap): void => {
    if (namespace === clusterInfo.namespace && name === clusterInfo.name) queue.add(name);
  };
  maps.handle({ add: mapChanged, update: mapChanged });

  async function reconcile(): Promise<void> {
    const map = maps.get(clusterInfo);
    const kubeconfig = map?.data?.["kubeconfig"];
    if (map === undefined || kubeconfig === undefined) return;
    const others = Object.entries(map.data ?? {}).filter(([key]) => !key.startsWith(signaturePrefix));
    const data = { ...Object.fromEntries(others), ...signatures(kubeconfig) };
    if (isDeepStrictEqual(data, map.data)) return;
    try {
      await client.resource(ConfigMap).update({ ...map, data });
    } catch (error) {
      // The change comes by the watch.
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  function signatures(kubeconfig: string): Record<string, string> {
    return Object.fromEntries(
      secrets.list().flatMap((secret) => {
        const id = dataOf(secret, "token-id");
        const key = dataOf(secret, "token-secret");
        const usable =
          isBootstrapToken(secret) &&
          secret.metadata.name === `bootstrap-token-${id}` &&
          /^[a-z0-9]{6}$/.test(id) &&
          key !== "" &&
          (expiryOf(secret) ?? Number.POSITIVE_INFINITY) > clock.now() &&
          dataOf(secret, "usage-bootstrap-signing") === "true";
        return usable ? [[`${signaturePrefix}${id}`, detachedSignature(kubeconfig, id, key)]] : [];
      }),
    );
  }

  return queues.controller;
}

/** A JSON Web Signature without its content (RFC 7515, appendix F). */
function detachedSignature(content: string, id: string, key: string): string {
  const base64url = (text: string): string => Buffer.from(text).toString("base64url");
  const head = base64url(JSON.stringify({ alg: "HS256", kid: id }));
  const signature = createHmac("sha256", key)
    .update(`${head}.${base64url(content)}`)
    .digest("base64url");
  return `${head}..${signature}`;
}
