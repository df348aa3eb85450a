/** Addresses and CIDRs in forms that old fields take and that programs read differently. */
import type { Endpoints, PodSpec, Service } from "../../generated/core/v1.ts";
import type { EndpointSlice } from "../../generated/discovery/v1.ts";
import type { NetworkPolicy } from "../../generated/networking/v1.ts";
import { addressWarnings, networkWarnings } from "../address.ts";

/** Upstream: pkg/api/pod/warnings.go. */
export function podAddressWarnings(path: string, { dnsConfig, hostAliases }: PodSpec): string[] {
  return [
    ...(dnsConfig?.nameservers ?? []).flatMap((server, index) =>
      addressWarnings(`${path}.dnsConfig.nameservers[${index}]`, server),
    ),
    ...(hostAliases ?? []).flatMap(({ ip = "" }, index) =>
      addressWarnings(`${path}.hostAliases[${index}].ip`, ip),
    ),
  ];
}

/** Upstream: pkg/api/service/warnings.go, in the order of its fields. */
export function serviceAddressWarnings({
  spec,
}: Service): Record<"cluster" | "external" | "others", string[]> {
  const { clusterIP, clusterIPs, externalIPs, loadBalancerIP, loadBalancerSourceRanges } = spec ?? {};
  const all = (name: string, list: readonly string[] | undefined): string[] =>
    (list ?? []).flatMap((address, index) => addressWarnings(`spec.${name}[${index}]`, address));
  return {
    cluster: clusterIP && clusterIP !== "None" ? all("clusterIPs", clusterIPs) : [],
    external: all("externalIPs", externalIPs),
    others: [
      ...(loadBalancerIP ? addressWarnings("spec.loadBalancerIP", loadBalancerIP) : []),
      ...(loadBalancerSourceRanges ?? []).flatMap((range, index) =>
        networkWarnings(`spec.loadBalancerSourceRanges[${index}]`, range),
      ),
    ],
  };
}

/** Upstream: pkg/registry/networking/networkpolicy/strategy.go, networkPolicyWarnings. */
export function policyAddressWarnings({ spec }: NetworkPolicy): string[] {
  const peers = [
    ...(spec?.ingress ?? []).flatMap(({ from }, i) =>
      (from ?? []).map((peer, j) => ({ peer, path: `spec.ingress[${i}].from[${j}]` })),
    ),
    ...(spec?.egress ?? []).flatMap(({ to }, i) =>
      (to ?? []).map((peer, j) => ({ peer, path: `spec.egress[${i}].to[${j}]` })),
    ),
  ];
  return peers.flatMap(({ peer: { ipBlock }, path }) =>
    ipBlock
      ? [
          ...networkWarnings(`${path}.ipBlock.cidr`, ipBlock.cidr ?? ""),
          ...(ipBlock.except ?? []).flatMap((part, index) =>
            networkWarnings(`${path}.ipBlock.except[${index}]`, part),
          ),
        ]
      : [],
  );
}

/** Controllers that mend what they copy. */
const sliceControllers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/** Upstream: pkg/registry/discovery/endpointslice/strategy.go, warnOnBadIPs. */
export function sliceAddressWarnings({ metadata, endpoints }: EndpointSlice): string[] {
  if (sliceControllers.includes(metadata.labels?.["endpointslice.kubernetes.io/managed-by"] ?? "")) return [];
  return (endpoints ?? []).flatMap(({ addresses }, i) =>
    (addresses ?? []).flatMap((address, j) => addressWarnings(`endpoints[${i}].addresses[${j}]`, address)),
  );
}

/** Upstream: pkg/registry/core/endpoint/strategy.go, endpointsWarnings. */
export function endpointsAddressWarnings({ metadata, subsets }: Endpoints): string[] {
  if (metadata.labels?.["endpoints.kubernetes.io/managed-by"] === "endpoint-controller") return [];
  return (subsets ?? []).flatMap((subset, i) =>
    (["addresses", "notReadyAddresses"] as const).flatMap((name) =>
      (subset[name] ?? []).flatMap(({ ip = "" }, j) => addressWarnings(`subsets[${i}].${name}[${j}].ip`, ip)),
    ),
  );
}

/** Of a status: `podIPs` and `hostIPs` of pods, `loadBalancer.ingress` of services and ingresses. */
export function statusAddressWarnings(object: {
  readonly status?: {
    readonly podIPs?: readonly { readonly ip?: string }[];
    readonly hostIPs?: readonly { readonly ip?: string }[];
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] };
  };
}): string[] {
  const { podIPs, hostIPs, loadBalancer } = object.status ?? {};
  return [
    ...Object.entries({ podIPs, hostIPs }).flatMap(([name, list]) =>
      (list ?? []).flatMap(({ ip = "" }, index) => addressWarnings(`status.${name}[${index}].ip`, ip)),
    ),
    ...(loadBalancer?.ingress ?? []).flatMap(({ ip = "" }, index) =>
      addressWarnings(`status.loadBalancer.ingress[${index}]`, ip),
    ),
  ];
}
