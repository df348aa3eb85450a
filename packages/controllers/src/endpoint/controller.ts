import { isDeepStrictEqual } from "node:util";
import { StatusError } from "@dray/api";
import { type EndpointAddress, type EndpointSubset, Endpoints, Pod, Service } from "@dray/api/core/v1";
import { isPodReady } from "@dray/api/pod";
import { hasReached, isNamespaceTerminating, keyOf, refOf } from "@dray/client";
import {
  belongsInEndpoints,
  hasSelector,
  headlessLabel,
  hostnameIn,
  isHeadless,
  leaderAnnotation,
  podAddresses,
  targetPortOf,
  triggerTimeAnnotation,
} from "../endpointslice/pod-endpoint.ts";
import { followPods, podsOf } from "../endpointslice/pod-services.ts";
import { TriggerTimes } from "../endpointslice/trigger-time-tracker.ts";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { repackSubsets, truncateSubsets } from "./subsets.ts";

const managedByLabel = "endpoints.kubernetes.io/managed-by";
const controllerName = "endpoint-controller";
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

/**
 * Keeps the Endpoints of Services with a selector, for clients that do not read EndpointSlices.
 *
 * Upstream: pkg/controller/endpoint/endpoints_controller.go.
 */
export async function startEndpointsController(context: ControllerContext): Promise<Controller> {
  const { informers } = context;
  // The server warns whoever reads this deprecated kind.
  const client = context.client.resource(Endpoints, { ignoreWarnings: true });
  const services = informers.of(Service);
  const pods = informers.of(Pod);
  const all = informers.of(Endpoints);
  await synced(context, [services, pods, all]);
  const recorder = recorderOf(context, controllerName);
  const triggerTimes = new TriggerTimes();
  const queues = controllerQueues(context);
  const queue = queues.queue("endpoint", reconcile);

  const changed = ({ metadata }: Service | Endpoints): void => queue.add(keyOf(metadata));
  services.handle({ add: changed, update: changed, delete: changed });
  all.handle({ delete: changed });
  // Endpoints of Services that were deleted while no controller ran.
  for (const endpoints of all.list())
    if (endpoints.metadata.annotations?.[leaderAnnotation] === undefined) changed(endpoints);
  followPods(informers, (key) => queue.add(key));

  async function reconcile(key: string): Promise<void> {
    const service = services.get(refOf(key));
    const present = all.get(refOf(key));
    if (service === undefined) {
      triggerTimes.forget(key);
      return present === undefined ? undefined : remove(present);
    }
    if (!hasSelector(service)) return;
    const selected = podsOf(informers, service);
    const triggerTime = triggerTimes.next(key, service, selected);
    const wanted = endpointsFor(service, selected, present);
    if (present !== undefined && isSame(present, wanted)) return;
    const { [triggerTimeAnnotation]: _, ...annotations } = wanted.metadata.annotations ?? {};
    if (triggerTime !== undefined) annotations[triggerTimeAnnotation] = triggerTime;
    await write({ ...wanted, metadata: { ...wanted.metadata, annotations } }, present);
  }

  async function write(wanted: Endpoints, present: Endpoints | undefined): Promise<void> {
    try {
      const written = await (present === undefined ? client.create(wanted) : client.update(wanted));
      await all.until(() => hasReached(all, written));
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      const { namespace, name } = wanted.metadata;
      const text = error instanceof Error ? error.message : String(error);
      if (present === undefined) {
        const message = `Failed to create endpoint for service ${namespace}/${name}: ${text}`;
        recorder.event(wanted, "Warning", "FailedToCreateEndpoint", message);
      } else {
        const message = `Failed to update endpoint ${namespace}/${name}: ${text}`;
        recorder.event(wanted, "Warning", "FailedToUpdateEndpoint", message);
      }
      throw error;
    }
  }

  async function remove({ metadata: { namespace, name, uid } }: Endpoints): Promise<void> {
    try {
      await client.delete({ namespace, name }, { preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  return queues.controller;
}

/** The Endpoints as they are to be; annotations and metadata of others stay. */
function endpointsFor(service: Service, pods: readonly Pod[], present: Endpoints | undefined): Endpoints {
  const packed = repackSubsets(pods.flatMap((pod) => subsetsOf(service, pod)));
  const truncated = truncateSubsets(packed);
  const { [overCapacityAnnotation]: _, ...annotations } = present?.metadata.annotations ?? {};
  if (truncated !== undefined) annotations[overCapacityAnnotation] = "truncated";
  const { [headlessLabel]: __, ...labels } = service.metadata.labels ?? {};
  const { namespace, name } = service.metadata;
  return {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: {
      ...((present?.metadata ?? { namespace, name }) as Endpoints["metadata"]),
      labels: {
        ...labels,
        ...(isHeadless(service) ? { [headlessLabel]: "" } : {}),
        [managedByLabel]: controllerName,
      },
      annotations,
    },
    subsets: truncated ?? packed,
  };
}

function subsetsOf(service: Service, pod: Pod): EndpointSubset[] {
  const { publishNotReadyAddresses = false, ports = [] } = service.spec;
  const address = addressOf(service, pod);
  if (!belongsInEndpoints(pod, publishNotReadyAddresses) || address === undefined) return [];
  const field = publishNotReadyAddresses || isPodReady(pod) ? "addresses" : "notReadyAddresses";
  if (ports.length === 0) return isHeadless(service) ? [{ [field]: [address] }] : [];
  return ports.flatMap((port) => {
    const number = targetPortOf(pod, port);
    if (number === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = port;
    return [
      {
        [field]: [address],
        ports: [{ name, port: number, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }],
      },
    ];
  });
}

/** The pod's address of the first family of the Service. */
function addressOf(service: Service, pod: Pod): EndpointAddress | undefined {
  const { ipFamilies, clusterIP } = service.spec;
  const first = clusterIP && clusterIP !== "None" ? clusterIP : (pod.status?.podIP ?? "");
  const family = ipFamilies?.[0] ?? (first.includes(":") ? "IPv6" : "IPv4");
  const [ip] = podAddresses(pod, family === "IPv6" ? 128 : 32);
  if (ip === undefined) return undefined;
  const { namespace, name, uid } = pod.metadata;
  const hostname = hostnameIn(pod, service);
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}

function isSame(present: Endpoints, wanted: Endpoints): boolean {
  const { [overCapacityAnnotation]: capacity } = present.metadata.annotations ?? {};
  return (
    capacity === wanted.metadata.annotations?.[overCapacityAnnotation] &&
    isDeepStrictEqual(present.metadata.labels, wanted.metadata.labels) &&
    isDeepStrictEqual(repackSubsets(present.subsets ?? []), wanted.subsets)
  );
}
