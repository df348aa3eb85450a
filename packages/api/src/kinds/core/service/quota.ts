import type { Service } from "../../../generated/core/v1.ts";
import { type Amounts, one } from "../../../values/amounts.ts";
import { Quantity } from "../../../values/quantity.ts";
import { countName, type QuotaEvaluator } from "../../quota-evaluator.ts";

const serviceCount = countName("", "services");
const names = [serviceCount, "services", "services.nodeports", "services.loadbalancers"];

/** Charges services, and apart from that those that take node ports or load balancers. */
export const serviceEvaluator: QuotaEvaluator = {
  handles: ({ operation, subresource }) =>
    subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
  matching: (wanted) => wanted.filter((name) => names.includes(name)),
  usage: (object) => usage(object as Service),
};

function usage({ spec }: Service): Amounts {
  const ports = spec?.ports ?? [];
  const balanced = spec?.type === "LoadBalancer";
  // Without allocation only the node ports that were asked for by number are taken.
  const taken =
    balanced && spec.allocateLoadBalancerNodePorts === false
      ? ports.filter(({ nodePort }) => nodePort)
      : balanced || spec?.type === "NodePort"
        ? ports
        : [];
  return new Map([
    [serviceCount, one],
    ["services", one],
    ["services.nodeports", Quantity.of(taken.length)],
    ["services.loadbalancers", Quantity.of(balanced ? 1 : 0)],
  ]);
}
