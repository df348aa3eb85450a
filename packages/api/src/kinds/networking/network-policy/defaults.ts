import type { NetworkPolicy } from "../../../generated/networking/v1.ts";
import type { Wire } from "../../../objects/wire.ts";

export function defaultNetworkPolicy(policy: Wire<NetworkPolicy>): void {
  policy.spec ??= {};
  const { spec } = policy;
  for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
    for (const port of rule.ports ?? []) port.protocol ??= "TCP";
  }
  if ((spec.policyTypes ?? []).length === 0) {
    spec.policyTypes = (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
  }
}
