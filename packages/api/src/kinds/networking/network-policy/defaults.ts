import type { NetworkPolicy } from "../../../generated/networking/v1.ts";

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
