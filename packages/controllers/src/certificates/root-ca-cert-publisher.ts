import { ConfigMap, Namespace } from "@dray/api/core/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { createUnlessPresent, isActive } from "../shared/namespaces.ts";

const rootCertificates = "kube-root-ca.crt";
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/** Publishes the certificate of the API server's authority in each namespace, where pods mount it from. */
export async function startRootCertificatePublisher(
  context: ControllerContext,
  rootCA: string,
): Promise<Controller> {
  const { client, informers } = context;
  const namespaces = informers.of(Namespace);
  const maps = informers.of(ConfigMap);
  await synced(context, [namespaces, maps]);
  const queues = controllerQueues(context);
  const queue = queues.queue("root_ca_cert_publisher", async (namespace) => {
    if (!isActive(namespaces.get({ name: namespace }))) return;
    const data = { "ca.crt": rootCA };
    const metadata = {
      namespace,
      name: rootCertificates,
      annotations: { "kubernetes.io/description": description },
    };
    const there = maps.get({ namespace, name: rootCertificates });
    if (there === undefined) {
      await createUnlessPresent(() => client.resource(ConfigMap).create({ metadata, data }));
    } else if (there.data?.["ca.crt"] !== rootCA || Object.keys(there.data).length !== 1) {
      await client.resource(ConfigMap).update({ ...there, data });
    }
  });
  const changed = (namespace: Namespace): void => queue.add(namespace.metadata.name);
  namespaces.handle({ add: changed, update: changed });
  const mapChanged = (map: ConfigMap): void => {
    if (map.metadata.name === rootCertificates) queue.add(map.metadata.namespace);
  };
  maps.handle({ update: mapChanged, delete: mapChanged });
  return queues.controller;
}
