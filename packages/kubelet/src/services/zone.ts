import { Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import type { Client, Informer } from "@dray/client";
import type { DnsZone } from "../dns/records.ts";
import { serviceNameLabel } from "./routes.ts";

/** Caches of the Services of a cluster and of their endpoints. */
export interface ServiceCaches {
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice>;
}

/** Caches that are not started yet. */
export function serviceCaches(client: Client): ServiceCaches {
  return {
    services: client.informer(Service, {
      indexes: { namespace: ({ metadata }) => [metadata.namespace] },
    }),
    slices: client.informer(EndpointSlice, { indexes: { service: (slice) => [serviceOf(slice)] } }),
  };
}

/** `NAMESPACE/NAME` of the Service of a slice. */
export function serviceOf({ metadata: { namespace, labels } }: EndpointSlice): string {
  return `${namespace}/${labels?.[serviceNameLabel] ?? ""}`;
}

/** The zone of a cluster; `caches` is called for each name. */
export function dnsZone(domain: string, server: string, caches: () => ServiceCaches): DnsZone {
  return {
    domain,
    server,
    service: (namespace, name) => caches().services.get({ namespace, name }),
    slices: (namespace, name) => caches().slices.byIndex("service", `${namespace}/${name}`),
    hasNamespace: (namespace) => caches().services.byIndex("namespace", namespace).length > 0,
    services: () => caches().services.list(),
    allSlices: () => caches().slices.list(),
  };
}
