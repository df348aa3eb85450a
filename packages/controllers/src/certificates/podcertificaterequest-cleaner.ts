import { StatusError } from "@dray/api";
import type { PodCertificateRequest } from "@dray/api/certificates/v1";
import { keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { servedKind } from "../shared/served-kinds.ts";
import type { ServedResources } from "../shared/served-resources.ts";
import { refTo } from "../shared/status.ts";

/** Milliseconds after which a request is of no use to its pod any more. */
const maxAge = 15 * 60_000;

/**
 * Deletes PodCertificateRequests after 15 minutes. Does nothing on a server without that kind.
 *
 * Upstream: pkg/controller/certificates/cleaner/pcrcleaner.go.
 */
export async function startPodCertificateRequestCleaner(
  context: ControllerContext,
  served: Pick<ServedResources, "list">,
): Promise<Controller> {
  const { client, clock, informers } = context;
  const queues = controllerQueues(context);
  const kind = servedKind<PodCertificateRequest>(served, "certificates.k8s.io", "podcertificaterequests");
  if (kind === undefined) return queues.controller;
  const requests = informers.of(kind);
  const resource = client.resource(kind);
  await synced(context, [requests]);
  const queue = queues.queue("podcertificaterequest-cleaner", reconcile);
  requests.handle({ add: ({ metadata }) => queue.add(keyOf(metadata)) });

  async function reconcile(key: string): Promise<void> {
    const request = requests.get(refOf(key));
    if (request === undefined) return;
    const wait = Date.parse(request.metadata.creationTimestamp) + maxAge - clock.now();
    if (wait > 0) return queue.addAfter(key, wait);
    const { uid } = request.metadata;
    try {
      await resource.delete(refTo(request), { preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  return queues.controller;
}
