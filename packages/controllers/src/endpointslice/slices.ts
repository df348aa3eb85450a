import { isDeepStrictEqual } from "node:util";
import type { KubeObject, NamespacedMeta } from "@dray/api";
import type { Endpoint, EndpointPort, EndpointSlice } from "@dray/api/discovery/v1";
import { type InformerHandler, keyOf } from "@dray/client";
import { serviceNameLabel } from "../shared/labels.ts";

export const managedByLabel = "endpointslice.kubernetes.io/managed-by";

/** Maximum length of a DNS subdomain. */
const maxNameLength = 253;

export type AddressType = "IPv4" | "IPv6";

/** An EndpointSlice that is to be written: the name of one that does not exist yet is empty. */
export type WantedSlice = Omit<EndpointSlice, "metadata" | "endpoints"> & {
  metadata: Pick<NamespacedMeta, "namespace" | "name"> & Partial<NamespacedMeta>;
  endpoints: Endpoint[];
};

/** Writes to the EndpointSlices of one Service. */
export interface SliceChanges {
  create: WantedSlice[];
  update: WantedSlice[];
  delete: EndpointSlice[];
}

/**
 * Handler that calls `changed` with the key of the Service of each slice that `isMine` accepts, before and
 * after a change.
 */
export function serviceOfSlice(
  isMine: (slice: EndpointSlice) => boolean,
  changed: (key: string) => void,
): InformerHandler<EndpointSlice> {
  const notify = (slice: EndpointSlice): void => {
    const { namespace, labels } = slice.metadata;
    const name = labels?.[serviceNameLabel];
    if (isMine(slice) && name) changed(keyOf({ namespace, name }));
  };
  return {
    add: notify,
    update(slice, old) {
      notify(slice);
      notify(old);
    },
    delete: notify,
  };
}

/**
 * Equal for lists of the same ports, whatever their order. Upstream: k8s.io/endpointslice/util,
 * NewPortMapKey.
 */
export function portsKey(ports: readonly EndpointPort[] | undefined): string {
  return (ports ?? [])
    .map(({ name = "", protocol = "TCP", port = null, appProtocol = null }) =>
      JSON.stringify([name, protocol, port, appProtocol]),
    )
    .sort()
    .join();
}

/** Identity of an endpoint: its other fields are updated in place. Upstream: endpointset.go. */
export function endpointKey({ addresses, hostname = "", targetRef }: Endpoint): string {
  return JSON.stringify([[...addresses].sort(), hostname, targetRef?.namespace ?? "", targetRef?.name ?? ""]);
}

/** Upstream: k8s.io/endpointslice/util/controller_utils.go, EndpointsEqualBeyondHash. */
export function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  const rest = ({ nodeName, zone, conditions, targetRef }: Endpoint): unknown => {
    const { resourceVersion: _, ...target } = targetRef ?? {};
    return [nodeName, zone, conditions?.ready, conditions?.serving, conditions?.terminating, target];
  };
  return isDeepStrictEqual(rest(a), rest(b));
}

export function endpointsByKey(endpoints: readonly Endpoint[]): Map<string, Endpoint> {
  return new Map(endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]));
}

/** `NAME-`, or the name where a dash would make it too long. */
export function slicePrefix(name: string): string {
  return name.length < maxNameLength ? `${name}-` : name;
}

export function isOwnedBy(slice: EndpointSlice, owner: KubeObject): boolean {
  return (slice.metadata.ownerReferences ?? []).some(
    ({ uid, kind, apiVersion }) =>
      uid === owner.metadata.uid && kind === owner.kind && apiVersion === owner.apiVersion,
  );
}

/**
 * Gives slices that would be deleted the contents of ones that would be created. An address type never
 * changes.
 */
export function recycle(
  { create, update, delete: slicesToDelete }: SliceChanges,
  owner: KubeObject,
): SliceChanges {
  const left = [...create];
  const recycled: WantedSlice[] = [];
  const unused = slicesToDelete.filter((slice) => {
    if (!isOwnedBy(slice, owner)) return true;
    const index = left.findLastIndex(({ addressType }) => addressType === slice.addressType);
    if (index < 0) return true;
    const [wanted] = left.splice(index, 1);
    if (wanted === undefined) return true;
    const { labels, annotations, ownerReferences } = wanted.metadata;
    const { annotations: _, ...metadata } = slice.metadata;
    recycled.push({
      ...wanted,
      metadata: {
        ...metadata,
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations }),
        ...(ownerReferences === undefined ? {} : { ownerReferences }),
      },
    });
    return false;
  });
  return { create: left, update: [...update, ...recycled], delete: unused };
}
