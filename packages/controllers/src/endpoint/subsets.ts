import type { EndpointAddress, EndpointPort, EndpointSubset } from "@dray/api/core/v1";

/** Maximum number of addresses of an Endpoints object. */
export const maxAddresses = 1000;

interface SubsetPorts {
  readonly port: EndpointPort | undefined;
  /** Whether the address is ready, by its key. */
  readonly ready: Map<string, boolean>;
}

/**
 * Returns the canonical form: one subset for all ports that the same addresses offer, each address once,
 * sorted. An address that is both ready and not ready is not ready.
 *
 * Upstream: pkg/api/v1/endpoints/util.go, RepackSubsets.
 */
export function repackSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const addresses = new Map<string, EndpointAddress>();
  const offers = new Map<string, SubsetPorts>();
  for (const subset of subsets)
    for (const port of subset.ports?.length ? subset.ports.map(normalPort) : [undefined]) {
      const portKey = JSON.stringify(port ?? null);
      const offer = offers.get(portKey) ?? { port, ready: new Map<string, boolean>() };
      offers.set(portKey, offer);
      const add = (address: EndpointAddress, ready: boolean): void => {
        const key = JSON.stringify([address.ip, address.targetRef?.uid ?? ""]);
        if (!addresses.has(key)) addresses.set(key, normalAddress(address));
        offer.ready.set(key, ready && (offer.ready.get(key) ?? true));
      };
      for (const address of subset.addresses ?? []) add(address, true);
      for (const address of subset.notReadyAddresses ?? []) add(address, false);
    }
  const byAddresses = Map.groupBy(offers.values(), ({ ready }) => JSON.stringify([...ready].sort()));
  return [...byAddresses]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, [first, ...more]]) => {
      const keys = [...(first?.ready ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
      const those = (ready: boolean): EndpointAddress[] =>
        keys.filter(([, is]) => is === ready).flatMap(([key]) => addresses.get(key) ?? []);
      const ports = [first, ...more].flatMap((offer) => offer?.port ?? []);
      return withoutEmpty({
        addresses: those(true),
        notReadyAddresses: those(false),
        ports: ports.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
      });
    });
}

/**
 * Cuts subsets that have more than 1000 addresses: ready ones go first, and each subset loses in proportion.
 * Returns undefined if there is nothing to cut.
 *
 * Upstream: pkg/controller/endpoint/endpoints_controller.go, truncateEndpoints.
 */
export function truncateSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] | undefined {
  const count = (field: "addresses" | "notReadyAddresses"): number =>
    subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0);
  const ready = count("addresses");
  const notReady = count("notReadyAddresses");
  if (ready + notReady <= maxAddresses) return undefined;
  const cut = ready > maxAddresses ? "addresses" : "notReadyAddresses";
  const room = cut === "addresses" ? maxAddresses : maxAddresses - ready;
  const total = cut === "addresses" ? ready : notReady;
  let left = room;
  return subsets.map((subset) => {
    const own = subset[cut] ?? [];
    const kept = own.slice(0, Math.min(left, Math.ceil((own.length / total) * room)));
    left -= kept.length;
    return withoutEmpty({
      ...subset,
      ...(cut === "addresses" ? { notReadyAddresses: [] } : {}),
      [cut]: kept,
    });
  });
}

function withoutEmpty(subset: EndpointSubset): EndpointSubset {
  return Object.fromEntries(Object.entries(subset).filter(([, list]) => list.length > 0));
}

function normalPort({ name, port, protocol = "TCP", appProtocol }: EndpointPort): EndpointPort {
  return { ...(name ? { name } : {}), port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) };
}

/** The version of a pod that an address leads to says nothing about the address. */
function normalAddress({ targetRef, ...address }: EndpointAddress): EndpointAddress {
  if (targetRef === undefined) return address;
  const { resourceVersion: _, ...target } = targetRef;
  return { ...address, targetRef: target };
}
