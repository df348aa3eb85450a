import { Namespace, ServiceAccount } from "@dray/api/core/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { createUnlessPresent, isActive } from "../shared/namespaces.ts";

const account = "default";

/** Sees to it that each namespace has the service account `default`. */
export async function startServiceAccountController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const namespaces = informers.of(Namespace);
  const accounts = informers.of(ServiceAccount);
  await synced(context, [namespaces, accounts]);
  const queues = controllerQueues(context);
  const queue = queues.queue("serviceaccount", async (namespace) => {
    if (!isActive(namespaces.get({ name: namespace })) || accounts.get({ namespace, name: account })) return;
    await createUnlessPresent(() =>
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
