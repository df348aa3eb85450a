import { isDeepStrictEqual } from "node:util";
import { Service } from "@dray/api/core/v1";
import type { Endpoint, EndpointPort, EndpointSlice } from "@dray/api/discovery/v1";
import { serviceNameLabel } from "../shared/labels.ts";
import { controllerReference } from "../shared/owners.ts";
import { headlessLabel, isHeadless } from "./pod-endpoint.ts";
import {
  type AddressType,
  endpointKey,
  endpointsByKey,
  isOwnedBy,
  managedByLabel,
  portsKey,
  recycle,
  type SliceChanges,
  sameEndpoint,
  slicePrefix,
  type WantedSlice,
} from "./slices.ts";
import { withHints } from "./traffic-distribution.ts";

/** Value of label `endpointslice.kubernetes.io/managed-by`. */
export const sliceController = "endpointslice-controller.k8s.io";
/** Upstream: --max-endpoints-per-slice of kube-controller-manager. */
const maxEndpointsPerSlice = 100;
const reservedLabels = [serviceNameLabel, managedByLabel, headlessLabel];

/** Endpoints of pods that have the same ports. */
export interface EndpointGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/**
 * Plans the slices of one address type: endpoints stay in the slice that they are in, slices that change
 * anyway are filled up first, and at most one other slice is touched for what is left.
 *
 * Upstream: k8s.io/endpointslice/reconciler.go, reconcileByAddressType and finalize.
 */
export function planSlices(
  service: Service,
  addressType: AddressType,
  groups: readonly EndpointGroup[],
  existing: readonly EndpointSlice[],
): SliceChanges {
  const own = existing.filter((slice) => isOwnedBy(slice, service));
  const byPorts = Map.groupBy(own, ({ ports }) => portsKey(ports));
  const plan: SliceChanges = {
    create: [],
    update: [],
    delete: existing.filter((slice) => !own.includes(slice)),
  };
  for (const group of groups) {
    const key = portsKey(group.ports);
    planGroup(plan, { service, addressType }, group, byPorts.get(key) ?? []);
    byPorts.delete(key);
  }
  for (const slice of [...byPorts.values()].flat()) plan.delete.push(slice);
  if (plan.delete.length === existing.length && plan.create.length === 0)
    addPlaceholder(plan, service, addressType);
  addHints(plan, service, existing);
  return recycle(plan, service);
}

/** The slices of a Service with one type of addresses. */
interface SliceFamily {
  readonly service: Service;
  readonly addressType: AddressType;
}

function planGroup(
  plan: SliceChanges,
  { service, addressType }: SliceFamily,
  { ports, endpoints }: EndpointGroup,
  existing: readonly EndpointSlice[],
): void {
  const missing = endpointsByKey(endpoints);
  const changed: WantedSlice[] = [];
  const unchanged: WantedSlice[] = [];
  const labels = labelsOf(service);
  for (const slice of existing) {
    const kept = keep(slice.endpoints ?? [], missing);
    const labelled = isDeepStrictEqual(slice.metadata.labels, labels);
    const next = { ...slice, metadata: { ...slice.metadata, labels }, endpoints: kept.endpoints };
    if (kept.endpoints.length === 0 && (slice.endpoints ?? []).length > 0) plan.delete.push(slice);
    else (kept.changed || !labelled ? changed : unchanged).push(next);
  }
  const fill = (slice: WantedSlice): void => {
    for (const [key, endpoint] of missing) {
      if (slice.endpoints.length >= maxEndpointsPerSlice) return;
      slice.endpoints.push(endpoint);
      missing.delete(key);
    }
  };
  for (const slice of changed.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) fill(slice);
  while (missing.size > 0) {
    const slice = fullestWithRoom(unchanged, missing.size);
    if (slice !== undefined) {
      unchanged.splice(unchanged.indexOf(slice), 1);
      changed.push(slice);
    }
    const target = slice ?? newSlice(service, addressType, ports);
    if (slice === undefined) plan.create.push(target);
    fill(target);
  }
  for (const slice of changed) plan.update.push(slice);
}

/** The endpoints of a slice that are still wanted, as they are to be now; takes them from `wanted`. */
function keep(
  endpoints: readonly Endpoint[],
  wanted: Map<string, Endpoint>,
): { endpoints: Endpoint[]; changed: boolean } {
  let changed = false;
  const kept = endpoints.flatMap((endpoint) => {
    const key = endpointKey(endpoint);
    const now = wanted.get(key);
    if (now === undefined) return [];
    wanted.delete(key);
    if (sameEndpoint(now, endpoint)) return [endpoint];
    changed = true;
    return [now];
  });
  return { endpoints: kept, changed: changed || kept.length !== endpoints.length };
}

function fullestWithRoom(slices: readonly WantedSlice[], count: number): WantedSlice | undefined {
  if (count >= maxEndpointsPerSlice) return undefined;
  return slices
    .filter(({ endpoints }) => endpoints.length + count <= maxEndpointsPerSlice)
    .toSorted((a, b) => b.endpoints.length - a.endpoints.length)[0];
}

/** A Service without endpoints has one slice without endpoints and ports. */
function addPlaceholder(plan: SliceChanges, service: Service, addressType: AddressType): void {
  const placeholder = newSlice(service, addressType, []);
  const [only] = plan.delete;
  const isPlaceholder =
    plan.delete.length === 1 &&
    only !== undefined &&
    isOwnedBy(only, service) &&
    (only.endpoints ?? []).length === 0 &&
    (only.ports ?? []).length === 0 &&
    isDeepStrictEqual(only.metadata.labels, placeholder.metadata.labels);
  if (isPlaceholder) plan.delete = [];
  else plan.create.push(placeholder);
}

function addHints(plan: SliceChanges, service: Service, existing: readonly EndpointSlice[]): void {
  const touched = new Set([...plan.update, ...plan.delete].map(({ metadata }) => metadata.name));
  for (const slice of existing) {
    if (touched.has(slice.metadata.name)) continue;
    const before = slice.endpoints ?? [];
    const endpoints = before.map((endpoint) => withHints(endpoint, service));
    if (endpoints.some((endpoint, index) => endpoint !== before[index]))
      plan.update.push({ ...slice, endpoints });
  }
  for (const slice of [...plan.create, ...plan.update])
    slice.endpoints = slice.endpoints.map((endpoint) => withHints(endpoint, service));
}

function newSlice(service: Service, addressType: AddressType, ports: readonly EndpointPort[]): WantedSlice {
  const { namespace, name } = service.metadata;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: "",
      generateName: slicePrefix(name),
      labels: labelsOf(service),
      ownerReferences: [controllerReference(Service, service)],
    },
    addressType,
    endpoints: [],
    ports: [...ports],
  };
}

/** Upstream: k8s.io/endpointslice/utils.go, setEndpointSliceLabels. */
function labelsOf(service: Service): Record<string, string> {
  return {
    ...withoutReserved(service.metadata.labels),
    ...(isHeadless(service) ? { [headlessLabel]: "" } : {}),
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: sliceController,
  };
}

function withoutReserved(labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !reservedLabels.includes(key)));
}
