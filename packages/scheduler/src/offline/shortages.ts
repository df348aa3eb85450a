import { Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { hostPortsOf } from "../framework/host-ports.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import { requestsOf } from "../framework/resources.ts";
import { type ExtendedClass, isServedByDevices } from "../plugins/dynamic-resources/extended-resources.ts";

/** A resource of which a node has less left than a pod requests. */
export interface Shortage {
  /** `cpu`, `pods`, `example.com/gpu`, or `port 80/TCP`. */
  readonly resource: string;
  readonly asked: string;
  /** The rest that the pods of the node leave. */
  readonly left: string;
  /** Total of the node for pods. */
  readonly total: string;
  /** The pods that have the port, `namespace/name`; only of ports. */
  readonly holders?: readonly string[];
}

/**
 * Returns the requests of the pod that exceed the rest of the node: figures of NodeResourcesFit and
 * NodePorts.
 */
export function shortagesOf(pod: Pod, node: NodeInfo, extendedClass: ExtendedClass | undefined): Shortage[] {
  const requests = [...requestsOf(pod)].filter(([resource]) => resource !== "pods");
  const short = [["pods", 1] as const, ...requests].flatMap(([resource, asked]): Shortage[] => {
    const total = node.allocatable.get(resource) ?? 0;
    const left = total - (resource === "pods" ? node.pods.size : (node.requested.get(resource) ?? 0));
    if (asked === 0 || asked <= left || isServedByDevices(resource, total, extendedClass)) return [];
    const text = (amount: number): string => amountText(resource, amount);
    return [{ resource, asked: text(asked), left: text(Math.max(0, left)), total: text(total) }];
  });
  return [...short, ...portsInUse(pod, node)];
}

function portsInUse(pod: Pod, node: NodeInfo): Shortage[] {
  return hostPortsOf(pod).flatMap((port): Shortage[] => {
    if (node.ports.isFree(port)) return [];
    const holders = [...node.pods.values()]
      .filter((other) => hostPortsOf(other).some((each) => each.port === port.port))
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    return [{ resource: `port ${port.port}`, asked: "1", left: "0", total: "1", holders }];
  });
}

/** Amounts as `framework/resources.ts` has them. */
function amountText(resource: string, amount: number): string {
  if (resource === "cpu") return Quantity.ofMilli(BigInt(Math.round(amount))).toString();
  const units = BigInt(Math.round(amount));
  const isBinary = units !== 0n && units % 1024n === 0n;
  return Quantity.of(units, isBinary ? "BinarySI" : "DecimalSI").toString();
}
