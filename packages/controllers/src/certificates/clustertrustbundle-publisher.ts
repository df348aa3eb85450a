import { createHash } from "node:crypto";
import { StatusError } from "@dray/api";
import type { ClusterTrustBundle } from "@dray/api/certificates/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { servedKind } from "../shared/served-kinds.ts";
import type { ServedResources } from "../shared/served-resources.ts";

const signerName = "kubernetes.io/kube-apiserver-serving";

/**
 * Publishes the authority of the API server as a ClusterTrustBundle, which pods project into volumes. Does
 * nothing on a server without that kind.
 *
 * Upstream: pkg/controller/certificates/clustertrustbundlepublisher.
 */
export async function startTrustBundlePublisher(
  context: ControllerContext,
  served: Pick<ServedResources, "list">,
  rootCA: string,
): Promise<Controller> {
  const { client, informers } = context;
  const queues = controllerQueues(context);
  const kind = servedKind<ClusterTrustBundle>(served, "certificates.k8s.io", "clustertrustbundles");
  if (kind === undefined || rootCA === "") return queues.controller;
  const bundles = informers.of(kind);
  const resource = client.resource(kind);
  await synced(context, [bundles]);
  const hash = createHash("sha256").update(rootCA).digest("hex").slice(0, 24);
  const name = `${signerName.replaceAll("/", ":")}:${hash}`;
  const queue = queues.queue("ca_cert_publisher_cluster_trust_bundles", reconcile, 1);
  const changed = ({ spec }: ClusterTrustBundle): void => {
    if (spec.signerName === signerName) queue.add(signerName);
  };
  bundles.handle({ add: changed, update: changed, delete: changed });
  queue.add(signerName);

  async function reconcile(): Promise<void> {
    const bundle = bundles.get({ name });
    if (bundle === undefined)
      await unlessDone("AlreadyExists", () =>
        resource.create({ metadata: { name }, spec: { signerName, trustBundle: rootCA } }),
      );
    else if (bundle.spec.trustBundle !== rootCA)
      await resource.update({ ...bundle, spec: { ...bundle.spec, trustBundle: rootCA } });
    for (const { metadata, spec } of bundles.list())
      if (spec.signerName === signerName && metadata.name !== name)
        await unlessDone("NotFound", () => resource.delete({ name: metadata.name }));
  }

  return queues.controller;
}

async function unlessDone(
  reason: "AlreadyExists" | "NotFound",
  write: () => Promise<unknown>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!StatusError.is(error, reason)) throw error;
  }
}
