import { Node, Pod, Service } from "@dray/api/core/v1";
import { type Endpoint, type EndpointPort, EndpointSlice } from "@dray/api/discovery/v1";
import { isPodReady } from "@dray/api/pod";
import { keyOf, refOf } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import {
  belongsInEndpoints,
  hasSelector,
  hostnameIn,
  isHeadless,
  podAddresses,
  targetPortOf,
} from "./pod-endpoint.ts";
import { followPods, podsOf, servicesOf } from "./pod-services.ts";
import { type EndpointGroup, planSlices, sliceController } from "./reconciler.ts";
import { type AddressType, managedByLabel, portsKey, type SliceChanges, serviceOfSlice } from "./slices.ts";
import { TriggerTimes } from "./trigger-time-tracker.ts";
import { writeSlices } from "./writes.ts";

const zoneLabel = "topology.kubernetes.io/zone";

/**
 * Leads Services with a selector to their pods: keeps the EndpointSlices that proxies and DNS read.
 *
 * Upstream: pkg/controller/endpointslice, k8s.io/endpointslice.
 */
export async function startEndpointSliceController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const services = informers.of(Service);
  const pods = informers.of(Pod);
  const nodes = informers.of(Node);
  const slices = informers.of(EndpointSlice);
  await synced(context, [services, pods, nodes, slices]);
  const recorder = recorderOf(context, "endpoint-slice-controller");
  const triggerTimes = new TriggerTimes();
  const queues = controllerQueues(context);
  const queue = queues.queue("endpoint_slice", reconcile);

  const serviceChanged = ({ metadata }: Service): void => queue.add(keyOf(metadata));
  services.handle({
    add: serviceChanged,
    update: serviceChanged,
    delete: ({ metadata }) => triggerTimes.forget(keyOf(metadata)),
  });
  followPods(informers, (key) => queue.add(key));
  // The zone of an endpoint is its node's; a pod whose node is not known yet has no endpoint.
  const nodeChanged = ({ metadata }: Node): void => {
    for (const pod of pods.byIndex("node", metadata.name))
      for (const key of servicesOf(informers, pod)) queue.add(key);
  };
  nodes.handle({
    add: nodeChanged,
    update(node, old) {
      if (node.metadata.labels?.[zoneLabel] !== old.metadata.labels?.[zoneLabel]) nodeChanged(node);
    },
  });
  slices.handle(serviceOfSlice(isManaged, (key) => queue.add(key)));

  async function reconcile(key: string): Promise<void> {
    const service = services.get(refOf(key));
    if (service === undefined || !hasSelector(service)) return;
    const selected = podsOf(informers, service);
    const existing = slices
      .byIndex("service", key)
      .filter((slice) => isManaged(slice) && slice.metadata.deletionTimestamp === undefined);
    const triggerTime = triggerTimes.next(key, service, selected);
    const mayCreate = service.metadata.deletionTimestamp === undefined;
    try {
      for (const changes of plansFor(service, selected, existing))
        await writeSlices(changes, { client, slices, mayCreate, triggerTime });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      recorder.event(
        service,
        "Warning",
        "FailedToUpdateEndpointSlices",
        `Error updating Endpoint Slices for Service ${key}: ${text}`,
      );
      throw error;
    }
  }

  function plansFor(
    service: Service,
    selected: readonly Pod[],
    existing: readonly EndpointSlice[],
  ): SliceChanges[] {
    const types = addressTypesOf(service);
    const plans = types.map((type) =>
      planSlices(
        service,
        type,
        groupsOf(service, type, selected),
        existing.filter(({ addressType }) => addressType === type),
      ),
    );
    const others = existing.filter(({ addressType }) => !types.includes(addressType as AddressType));
    return [...plans, { create: [], update: [], delete: others }];
  }

  /** The endpoints of the pods by their ports: a named port has a number of its own in each pod. */
  function groupsOf(service: Service, type: AddressType, selected: readonly Pod[]): EndpointGroup[] {
    const groups = new Map<string, { ports: EndpointPort[]; endpoints: Endpoint[] }>();
    for (const pod of selected) {
      if (!belongsInEndpoints(pod, true)) continue;
      const node = nodes.get({ name: pod.spec.nodeName ?? "" });
      if (node === undefined && !service.spec.publishNotReadyAddresses) continue;
      const addresses = podAddresses(pod, type === "IPv4" ? 32 : 128);
      if (addresses.length === 0) continue;
      const ports = portsOf(service, pod);
      const key = portsKey(ports);
      const group = groups.get(key) ?? { ports, endpoints: [] };
      groups.set(key, group);
      group.endpoints.push(endpointOf(pod, service, addresses, node));
    }
    return [...groups.values()];
  }

  return queues.controller;
}

function isManaged({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[managedByLabel] === sliceController;
}

function addressTypesOf({ spec }: Service): AddressType[] {
  const families = (spec.ipFamilies ?? []).filter((family) => family === "IPv4" || family === "IPv6");
  if (families.length > 0) return families as AddressType[];
  if (!spec.clusterIP || spec.clusterIP === "None") return ["IPv4", "IPv6"];
  return [spec.clusterIP.includes(":") ? "IPv6" : "IPv4"];
}

function portsOf(service: Service, pod: Pod): EndpointPort[] {
  const { ports = [] } = service.spec;
  if (ports.length === 0 && isHeadless(service)) return [];
  return ports.flatMap((port) => {
    const number = targetPortOf(pod, port);
    if (number === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = port;
    return [{ name, port: number, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

/** Upstream: k8s.io/endpointslice/utils.go, podToEndpoint. */
function endpointOf(pod: Pod, service: Service, addresses: string[], node: Node | undefined): Endpoint {
  const { namespace, name, uid } = pod.metadata;
  const serving = isPodReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = service.spec.publishNotReadyAddresses === true || (serving && !terminating);
  const hostname = hostnameIn(pod, service);
  const zone = node?.metadata.labels?.[zoneLabel];
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(hostname === undefined ? {} : { hostname }),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
    ...(zone ? { zone } : {}),
  };
}
