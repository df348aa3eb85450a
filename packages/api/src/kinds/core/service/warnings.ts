import { addressWarnings, networkWarnings } from "../../../checks/address.ts";
import type { Service } from "../../../generated/core/v1.ts";

/** Upstream: pkg/api/service/warnings.go, in the order of its fields. */
function serviceAddressWarnings({ spec }: Service): Record<"cluster" | "external" | "others", string[]> {
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

export function serviceWarnings(service: Service): string[] {
  const { spec } = service;
  const headless = spec?.type === "ClusterIP" && spec.clusterIP === "None";
  const external = spec?.type === "ExternalName";
  const addresses = (spec?.externalIPs ?? []).length > 0;
  const topology = "service.kubernetes.io/topology-aware-hints";
  const ofAddresses = serviceAddressWarnings(service);
  const texts: [boolean, string][] = [
    [
      Object.hasOwn(service.metadata.annotations ?? {}, topology),
      `annotation ${topology} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    ],
    ...ofAddresses.cluster.map((text): [boolean, string] => [true, text]),
    [headless && !!spec.loadBalancerIP, "spec.loadBalancerIP is ignored for headless services"],
    [headless && addresses, "spec.externalIPs is ignored for headless services"],
    [headless && spec.sessionAffinity !== "None", "spec.SessionAffinity is ignored for headless services"],
    ...ofAddresses.external.map((text): [boolean, string] => [true, text]),
    [
      addresses && !headless && !external,
      "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    ],
    ...ofAddresses.others.map((text): [boolean, string] => [true, text]),
    [external && addresses, 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [!external && !!spec?.externalName, 'spec.externalName is ignored when spec.type is not "ExternalName"'],
    [
      spec?.trafficDistribution === "PreferClose",
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  ];
  return texts.filter(([holds]) => holds).map(([, text]) => text);
}
