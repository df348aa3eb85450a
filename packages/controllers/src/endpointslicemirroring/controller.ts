import { isDeepStrictEqual } from "node:util";
import { type EndpointAddress, Endpoints, Service } from "@dray/api/core/v1";
import { type Endpoint, type EndpointPort, EndpointSlice } from "@dray/api/discovery/v1";
import { addressText, parseSloppyAddress, unmapped } from "@dray/api/ip";
import { keyOf, refOf } from "@dray/client";
import { maxAddresses, repackSubsets } from "../endpoint/subsets.ts";
import { leaderAnnotation, triggerTimeAnnotation } from "../endpointslice/pod-endpoint.ts";
import {
  type AddressType,
  endpointsByKey,
  isOwnedBy,
  managedByLabel,
  portsKey,
  recycle,
  type SliceChanges,
  sameEndpoint,
  serviceOfSlice,
  slicePrefix,
  type WantedSlice,
} from "../endpointslice/slices.ts";
import { deleteSlices, writeSlices } from "../endpointslice/writes.ts";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { serviceNameLabel } from "../shared/labels.ts";
import { controllerReference } from "../shared/owners.ts";

const mirrorController = "endpointslicemirroring-controller.k8s.io";
const skipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Mirrors the Endpoints that users write for Services without a selector to EndpointSlices.
 *
 * Upstream: pkg/controller/endpointslicemirroring.
 */
export async function startEndpointSliceMirroringController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const services = informers.of(Service);
  const all = informers.of(Endpoints);
  const slices = informers.of(EndpointSlice);
  await synced(context, [services, all, slices]);
  const recorder = recorderOf(context, "endpoint-slice-mirroring-controller");
  const queues = controllerQueues(context);
  const queue = queues.queue("endpoint_slice_mirroring", reconcile);

  const changed = ({ metadata }: Service | Endpoints): void => queue.add(keyOf(metadata));
  services.handle({
    add: changed,
    update(service, old) {
      if ((service.spec.selector === undefined) !== (old.spec.selector === undefined)) changed(service);
    },
    delete: changed,
  });
  all.handle({ add: changed, update: changed, delete: changed });
  slices.handle(serviceOfSlice(isMirror, (key) => queue.add(key)));

  async function reconcile(key: string): Promise<void> {
    const endpoints = all.get(refOf(key));
    const service = services.get(refOf(key));
    const existing = slices.byIndex("service", key).filter(isMirror);
    if (endpoints === undefined || !isMirrored(endpoints) || service === undefined || service.spec.selector)
      return deleteSlices(client, slices, existing);
    const { changes, invalid, skipped } = planMirror(endpoints, existing);
    if (invalid > 0) {
      const message = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
      recorder.event(endpoints, "Warning", "InvalidIPAddress", message);
    }
    if (skipped > 0) {
      const message = `A max of ${maxAddresses} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`;
      recorder.event(endpoints, "Warning", "TooManyAddressesToMirror", message);
    }
    const mayCreate = endpoints.metadata.deletionTimestamp === undefined;
    await writeSlices(changes, { client, slices, mayCreate });
  }

  return queues.controller;
}

function isMirror({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[managedByLabel] === mirrorController;
}

function isMirrored({ metadata }: Endpoints): boolean {
  return (
    metadata.labels?.[skipMirrorLabel] !== "true" && metadata.annotations?.[leaderAnnotation] === undefined
  );
}

interface MirrorPlan {
  readonly changes: SliceChanges;
  /** Numbers of addresses that are not mirrored: invalid, and over the maximum. */
  readonly invalid: number;
  readonly skipped: number;
}

/** One slice for each subset and address type. Upstream: endpointslicemirroring/reconciler.go. */
function planMirror(endpoints: Endpoints, existing: readonly EndpointSlice[]): MirrorPlan {
  const left = Map.groupBy(existing, ({ addressType, ports }) => `${addressType} ${portsKey(ports)}`);
  const changes: SliceChanges = { create: [], update: [], delete: [] };
  let invalid = 0;
  let skipped = 0;
  for (const subset of repackSubsets(endpoints.subsets ?? [])) {
    const addresses = [
      ...(subset.addresses ?? []).map((address) => ({ address, ready: true })),
      ...(subset.notReadyAddresses ?? []).map((address) => ({ address, ready: false })),
    ];
    const valid = addresses.flatMap(({ address, ready }) => endpointOf(address, ready) ?? []);
    invalid += addresses.length - valid.length;
    skipped += Math.max(0, valid.length - maxAddresses);
    const mirrored = valid.slice(0, maxAddresses);
    for (const type of ["IPv4", "IPv6"] as const) {
      const own = mirrored.filter((one) => one.type === type).map(({ endpoint }) => endpoint);
      if (own.length === 0) continue;
      const ports = (subset.ports ?? []).map(({ name = "", port, protocol = "TCP", appProtocol }) => ({
        name,
        port,
        protocol,
        ...(appProtocol === undefined ? {} : { appProtocol }),
      }));
      const key = `${type} ${portsKey(ports)}`;
      const [first, ...more] = left.get(key) ?? [];
      left.delete(key);
      for (const slice of more) changes.delete.push(slice);
      const wanted = mirrorOf(endpoints, type, ports, own);
      if (first === undefined) changes.create.push(wanted);
      else if (!isUpToDate(first, wanted, endpoints)) changes.update.push(replaced(first, wanted));
    }
  }
  for (const slice of [...left.values()].flat()) changes.delete.push(slice);
  return { changes: recycle(changes, endpoints), invalid, skipped };
}

function mirrorOf(
  endpoints: Endpoints,
  addressType: AddressType,
  ports: EndpointPort[],
  own: Endpoint[],
): WantedSlice {
  const { namespace, name, labels } = endpoints.metadata;
  const {
    [triggerTimeAnnotation]: _,
    [lastAppliedAnnotation]: __,
    ...annotations
  } = endpoints.metadata.annotations ?? {};
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: "",
      generateName: slicePrefix(name),
      labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: mirrorController },
      annotations,
      ownerReferences: [controllerReference(Endpoints, endpoints)],
    },
    addressType,
    ports,
    endpoints: own,
  };
}

function isUpToDate(slice: EndpointSlice, wanted: WantedSlice, endpoints: Endpoints): boolean {
  const present = endpointsByKey(slice.endpoints ?? []);
  const next = endpointsByKey(wanted.endpoints);
  return (
    isOwnedBy(slice, endpoints) &&
    isDeepStrictEqual(slice.metadata.labels, wanted.metadata.labels) &&
    isDeepStrictEqual(slice.metadata.annotations ?? {}, wanted.metadata.annotations) &&
    present.size === next.size &&
    [...next].every(([key, endpoint]) => {
      const old = present.get(key);
      return old !== undefined && sameEndpoint(old, endpoint);
    })
  );
}

function replaced(slice: EndpointSlice, wanted: WantedSlice): WantedSlice {
  const { labels = {}, annotations = {}, ownerReferences = [] } = wanted.metadata;
  return { ...wanted, metadata: { ...slice.metadata, labels, annotations, ownerReferences } };
}

function endpointOf(
  { ip, nodeName, hostname, targetRef }: EndpointAddress,
  ready: boolean,
): { readonly type: AddressType; readonly endpoint: Endpoint } | undefined {
  const parsed = parseSloppyAddress(ip);
  if (parsed === undefined) return undefined;
  const address = unmapped(parsed);
  return {
    type: address.bits === 32 ? "IPv4" : "IPv6",
    endpoint: {
      addresses: [addressText(address)],
      conditions: { ready },
      ...(hostname ? { hostname } : {}),
      ...(targetRef === undefined ? {} : { targetRef }),
      ...(nodeName === undefined ? {} : { nodeName }),
    },
  };
}
