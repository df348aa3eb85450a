import { isIPv4 } from "node:net";
import type { Service } from "@dray/api/core/v1";
import type { Endpoint, EndpointSlice } from "@dray/api/discovery/v1";

/** A port of a Service with its endpoints. */
export interface ServiceRoute {
  /** `NAMESPACE/NAME:PORT`, for messages. */
  readonly name: string;
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly clusterIP: string;
  readonly port: number;
  readonly externalIPs: readonly string[];
  readonly nodePort?: number;
  /** Duration in seconds for which a client keeps its endpoint (`sessionAffinity: ClientIP`). */
  readonly affinitySeconds?: number;
  /** Traffic policies `Local`: clients reach only endpoints of their own node. */
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
  /** Serving endpoints. */
  readonly endpoints: readonly RouteEndpoint[];
}

export interface RouteEndpoint {
  readonly address: string;
  readonly port: number;
  readonly node?: string;
  /** It still serves, and is used if there is no ready endpoint. */
  readonly terminating?: true;
}

/** Services with this label have another proxy. Upstream: pkg/proxy/apis/well_known_labels.go. */
const proxyNameLabel = "service.kubernetes.io/service-proxy-name";
export const serviceNameLabel = "kubernetes.io/service-name";

/** Default of `sessionAffinityConfig.clientIP.timeoutSeconds`. */
const defaultAffinitySeconds = 10_800;

/**
 * The IPv4 routes of all Services with an address, sorted by name.
 *
 * Upstream: pkg/proxy/serviceport.go, pkg/proxy/endpointslicecache.go.
 */
export function serviceRoutes(
  services: readonly Service[],
  slices: readonly EndpointSlice[],
): readonly ServiceRoute[] {
  const byService = slicesByService(slices);
  return services
    .flatMap((service) => routesOfService(service, byService.get(keyOf(service.metadata)) ?? []))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Slices by `NAMESPACE/SERVICE`. */
function slicesByService(slices: readonly EndpointSlice[]): ReadonlyMap<string, readonly EndpointSlice[]> {
  return Map.groupBy(slices, ({ metadata: { namespace, labels } }) =>
    keyOf({ namespace, name: labels?.[serviceNameLabel] ?? "" }),
  );
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** The IPv4 address of a Service; undefined for one without (headless, `ExternalName`, IPv6 only). */
export function clusterIPv4({ spec }: Service): string | undefined {
  if (spec === undefined || spec.type === "ExternalName") return undefined;
  return (spec.clusterIPs ?? [spec.clusterIP ?? ""]).find((address) => isIPv4(address));
}

/** The IPv4 routes of a Service with these slices; empty for one without an address or with another proxy. */
export function routesOfService(service: Service, slices: readonly EndpointSlice[]): ServiceRoute[] {
  const { metadata, spec } = service;
  const clusterIP = clusterIPv4(service);
  if (clusterIP === undefined || metadata.labels?.[proxyNameLabel] !== undefined) return [];
  const { sessionAffinity, sessionAffinityConfig, externalIPs = [] } = spec ?? {};
  const external = spec?.type === "NodePort" || spec?.type === "LoadBalancer";
  return (spec?.ports ?? []).map(({ name = "", protocol = "TCP", port, nodePort }) => ({
    name: `${keyOf(metadata)}:${name || port}`,
    protocol: protocol.toLowerCase() as ServiceRoute["protocol"],
    clusterIP,
    port,
    externalIPs: externalIPs.filter((address) => isIPv4(address)),
    ...(external && nodePort ? { nodePort } : {}),
    ...(sessionAffinity === "ClientIP"
      ? { affinitySeconds: sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds }
      : {}),
    internalLocal: spec?.internalTrafficPolicy === "Local",
    externalLocal: (external || externalIPs.length > 0) && spec?.externalTrafficPolicy === "Local",
    endpoints: endpointsOf(slices, name, protocol),
  }));
}

function endpointsOf(slices: readonly EndpointSlice[], name: string, protocol: string): RouteEndpoint[] {
  const found = new Map<string, RouteEndpoint>();
  for (const slice of slices) {
    if (slice.addressType !== "IPv4") continue;
    // kube-apiserver writes null for empty lists.
    const [endpoints, ports] = [slice.endpoints ?? [], slice.ports ?? []];
    const own = ports.filter((port) => (port.name ?? "") === name && (port.protocol ?? "TCP") === protocol);
    for (const { port } of own)
      for (const endpoint of endpoints) {
        const [address] = endpoint.addresses;
        const state = stateOf(endpoint);
        if (port === undefined || address === undefined || state === undefined) continue;
        const key = `${address}:${port}`;
        // Two slices may have the same endpoint while the controller moves it.
        if (state === "terminating" && found.has(key)) continue;
        found.set(key, {
          address,
          port,
          ...(endpoint.nodeName === undefined ? {} : { node: endpoint.nodeName }),
          ...(state === "terminating" ? { terminating: true } : {}),
        });
      }
  }
  return [...found.values()].sort((a, b) =>
    a.address === b.address ? a.port - b.port : a.address < b.address ? -1 : 1,
  );
}

/**
 * Undefined for an endpoint that does not serve. Absent conditions count as ready (discovery/v1
 * EndpointConditions).
 */
function stateOf({ conditions = {} }: Endpoint): "ready" | "terminating" | undefined {
  const { ready = true, serving = ready, terminating = false } = conditions;
  if (ready) return "ready";
  return serving && terminating ? "terminating" : undefined;
}

/**
 * Returns the endpoints for clients: ready ones, or without any those that still serve; with `nodes` only
 * those of these nodes.
 *
 * Upstream: pkg/proxy/topology.go, CategorizeEndpoints, without the hints of topologies.
 */
export function usableEndpoints(
  { endpoints }: ServiceRoute,
  nodes?: ReadonlySet<string>,
): readonly RouteEndpoint[] {
  const near =
    nodes === undefined ? endpoints : endpoints.filter(({ node }) => node !== undefined && nodes.has(node));
  const ready = near.filter(({ terminating }) => !terminating);
  return ready.length > 0 ? ready : near;
}
