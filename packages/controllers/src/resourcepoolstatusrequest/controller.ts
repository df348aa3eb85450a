import { apiVersionOf, StatusError } from "@dray/api";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { ResourcePoolStatusRequest } from "@dray/api/resource/v1alpha3";
import { hasReached, timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { servedTaintRules } from "../shared/served-kinds.ts";
import type { ServedResources } from "../shared/served-resources.ts";
import { calculatePoolStatus, failedStatus, type PoolInventory } from "./pool-status.ts";

/**
 * Milliseconds until a request with a status, and one without, is deleted. Upstream: completedRequestTTL,
 * pendingRequestTTL.
 */
const ttl = { completed: 3_600_000, pending: 24 * 3_600_000 };

/**
 * Sets the status of each ResourcePoolStatusRequest once: how many devices the pools of a driver have, and
 * how many of them are available (KEP-5677). Requests for an incomplete pool wait for its slices. Old
 * requests are deleted.
 *
 * Upstream: pkg/controller/resourcepoolstatusrequest. There a request whose pool is still incomplete after
 * five retries (0.2 s) never gets a status.
 */
export async function startResourcePoolStatusController(
  context: ControllerContext,
  served: ServedResources,
): Promise<Controller> {
  const { features, informers } = context;
  const queues = controllerQueues(context);
  if (!features.enabled("DRAResourcePoolStatus")) return queues.controller;
  if (served.find(apiVersionOf(ResourcePoolStatusRequest), ResourcePoolStatusRequest.kind) === undefined) {
    context.log.warn(
      {},
      "ResourcePoolStatusRequests are ignored: the feature gate is on, but the API server does not serve resource.k8s.io/v1alpha3 (--runtime-config)",
    );
    return queues.controller;
  }
  const requests = informers.of(ResourcePoolStatusRequest);
  const slices = informers.of(ResourceSlice);
  const claims = informers.of(ResourceClaim);
  const ruleKind = servedTaintRules(context, served);
  const rules = ruleKind === undefined ? undefined : informers.of(ruleKind);
  await synced(context, [requests, slices, claims, ...(rules === undefined ? [] : [rules])]);

  const pending = queues.queue("resource-pool-status/requests", async (name) => {
    const request = requests.get({ name });
    if (request === undefined || request.status !== undefined) return;
    const written = await complete(context, request, {
      slices: slices.list(),
      claims: claims.list(),
      rules: rules?.list() ?? [],
      summaries: features.version === "1.37",
    });
    const { uid } = request.metadata;
    if (written !== undefined)
      await requests.until(
        () => requests.get({ name })?.metadata.uid !== uid || hasReached(requests, written),
      );
  });
  const ends = queues.queue("resource-pool-status/ends", async (name) => {
    const request = requests.get({ name });
    if (request === undefined) return;
    const left = endOf(request) - context.clock.now();
    if (left > 0) return ends.addAfter(name, left);
    await deleteRequest(context, request);
  });
  const changed = (request: ResourcePoolStatusRequest): void => {
    const { name } = request.metadata;
    if (request.status === undefined) pending.add(name);
    ends.add(name);
  };
  requests.handle({ add: changed, update: changed });
  const sliceChanged = ({ spec }: ResourceSlice): void => {
    for (const request of requests.list())
      if (request.status === undefined && request.spec.driver === spec.driver)
        pending.add(request.metadata.name);
  };
  slices.handle({ add: sliceChanged, update: sliceChanged, delete: sliceChanged });
  return queues.controller;
}

/** Writes the status of a request; undefined if a pool is not complete yet. */
async function complete(
  { client, clock, metrics }: ControllerContext,
  request: ResourcePoolStatusRequest,
  inventory: PoolInventory,
): Promise<ResourcePoolStatusRequest | undefined> {
  const began = clock.now();
  const now = timeText(began);
  const { status, incomplete } = calculatePoolStatus(request, inventory, now);
  if (incomplete) return undefined;
  const labels = { driver_name: request.spec.driver };
  const write = (written: typeof status): Promise<ResourcePoolStatusRequest> =>
    client
      .resource(ResourcePoolStatusRequest)
      .update({ ...request, status: written }, { subresource: "status" });
  try {
    return await write(status).catch((error) => {
      // The API rejects a pool of generation 0, and would reject it at every retry.
      if (!StatusError.is(error, "Invalid")) throw error;
      return write(failedStatus(`Failed to write the status: ${error.message}`, now));
    });
  } catch (error) {
    if (StatusError.is(error, "NotFound")) return undefined;
    metrics.count("resourcepoolstatusrequest_controller_request_processing_errors_total", labels);
    throw error;
  } finally {
    metrics.count("resourcepoolstatusrequest_controller_requests_processed_total", labels);
    metrics.observe(
      "resourcepoolstatusrequest_controller_request_processing_duration_seconds",
      (clock.now() - began) / 1000,
      labels,
    );
  }
}

/** Milliseconds since the epoch at which the request is deleted. */
function endOf({ metadata, status }: ResourcePoolStatusRequest): number {
  const created = Date.parse(metadata.creationTimestamp);
  if (status === undefined) return created + ttl.pending;
  const done = status.conditions?.find(({ type }) => type === "Complete" || type === "Failed");
  return (
    (done?.lastTransitionTime === undefined ? created : Date.parse(done.lastTransitionTime)) + ttl.completed
  );
}

async function deleteRequest(
  { client }: ControllerContext,
  { metadata: { name, uid } }: ResourcePoolStatusRequest,
): Promise<void> {
  try {
    await client.resource(ResourcePoolStatusRequest).delete({ name }, { preconditions: { uid } });
  } catch (error) {
    // Gone, or another of the name.
    if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
  }
}
