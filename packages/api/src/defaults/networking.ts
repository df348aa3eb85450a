import type { Endpoints } from "../generated/core/v1.ts";
import type { EndpointSlice } from "../generated/discovery/v1.ts";
import type { IngressClass, NetworkPolicy } from "../generated/networking/v1.ts";

export function defaultNetworkPolicy(policy: NetworkPolicy): void {
  policy.spec ??= {};
  const { spec } = policy;
  for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
    for (const port of rule.ports ?? []) port.protocol ??= "TCP";
  }
  if ((spec.policyTypes ?? []).length === 0) {
    spec.policyTypes = (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
  }
}

export function defaultIngressClass({ spec }: IngressClass): void {
  if (spec?.parameters) spec.parameters.scope ??= "Cluster";
}

export function defaultEndpointSlice(slice: EndpointSlice): void {
  for (const port of slice.ports ?? []) {
    port.name ??= "";
    port.protocol ??= "TCP";
  }
}

export function defaultEndpoints({ subsets }: Endpoints): void {
  for (const subset of subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= "TCP";
}
