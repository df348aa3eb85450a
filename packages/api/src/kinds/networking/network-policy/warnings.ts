import { networkWarnings } from "../../../checks/address.ts";
import type { NetworkPolicy } from "../../../generated/networking/v1.ts";

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
