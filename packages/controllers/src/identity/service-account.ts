import { StatusError } from "@dray/api";
import { ConfigMap, Namespace, ServiceAccount } from "@dray/api/core/v1";
import { isNamespaceTerminating } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../context.ts";

const account = "default";
const rootCertificates = "kube-root-ca.crt";
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/** Sees to it that each namespace has the service account `default`. */
export async function startServiceAccountController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const namespaces = informers.of(Namespace);
  const accounts = informers.of(ServiceAccount);
  await synced(context, [namespaces, accounts]);
  const queues = controllerQueues(context);
  const queue = queues.queue("serviceaccount", async (namespace) => {
    if (!isActive(namespaces.get({ name: namespace })) || accounts.get({ namespace, name: account })) return;
    await unlessNotNeeded(() =>
      client.resource(ServiceAccount).create({ metadata: { namespace, name: account } }),
    );
  });
  const changed = (namespace: Namespace): void => queue.add(namespace.metadata.name);
  namespaces.handle({ add: changed, update: changed });
  accounts.handle({
    delete(object) {
      if (object.metadata.name === account) queue.add(object.metadata.namespace);
    },
  });
  return queues.controller;
}

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
  const queue = queues.queue("root-ca-certificate-publisher", async (namespace) => {
    if (!isActive(namespaces.get({ name: namespace }))) return;
    const data = { "ca.crt": rootCA };
    const metadata = {
      namespace,
      name: rootCertificates,
      annotations: { "kubernetes.io/description": description },
    };
    const there = maps.get({ namespace, name: rootCertificates });
    if (there === undefined) {
      await unlessNotNeeded(() => client.resource(ConfigMap).create({ metadata, data }));
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

function isActive(namespace: Namespace | undefined): boolean {
  return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
}

/** It may be there already, and in a namespace that goes away it is not wanted. */
async function unlessNotNeeded(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (StatusError.is(error, "AlreadyExists") || StatusError.is(error, "NotFound")) return;
    if (!isNamespaceTerminating(error)) throw error;
  }
}
