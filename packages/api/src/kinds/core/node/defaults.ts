import type { Node } from "../../../generated/core/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { roundResources } from "../pod/defaults.ts";

export function defaultNode(node: Wire<Node>): void {
  node.spec ??= {};
  const { spec, status } = node;
  // Two forms of one field: `podCIDR` is the first of `podCIDRs`.
  if (spec.podCIDR && spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
  else if (spec.podCIDRs?.[0]) spec.podCIDR ||= spec.podCIDRs[0];
  if (!status) return;
  if (!status.allocatable && status.capacity) status.allocatable = { ...status.capacity };
  roundResources(status.capacity);
  roundResources(status.allocatable);
}
