import type { Service, ServiceSpec } from "@dray/api/core/v1";
import { deepEqual } from "../../../storage/json.ts";

const isExternal = ({ type, externalIPs }: ServiceSpec): boolean =>
  type === "NodePort" || type === "LoadBalancer" || (type === "ClusterIP" && (externalIPs ?? []).length > 0);
const isBalanced = ({ type }: ServiceSpec): boolean => type === "LoadBalancer";
const hasNodePorts = ({ type }: ServiceSpec): boolean => type === "NodePort" || type === "LoadBalancer";
const hasAddress = ({ type }: ServiceSpec): boolean => type !== "ExternalName";

/** Fields that only make sense for some types of service, and for which. */
const fields: readonly (readonly [keyof ServiceSpec, (spec: ServiceSpec) => boolean])[] = [
  ["clusterIP", hasAddress],
  ["clusterIPs", hasAddress],
  ["ipFamilies", hasAddress],
  ["ipFamilyPolicy", hasAddress],
  ["healthCheckNodePort", (spec) => isBalanced(spec) && spec.externalTrafficPolicy === "Local"],
  ["allocateLoadBalancerNodePorts", isBalanced],
  ["loadBalancerClass", isBalanced],
  ["externalTrafficPolicy", isExternal],
];

/**
 * Takes away what belongs to the old type of a service where its type changes: who changes the type alone
 * would otherwise be refused for fields that the server has filled in. A field that is changed by the same
 * write stays, and is validated.
 */
export function dropOldTypeFields(service: Service, old: Service): void {
  const { spec } = service;
  const before = old.spec;
  if (!spec || !before) return;
  const same = fields.filter(([name]) => deepEqual(spec[name], before[name]));
  const dropped = same.filter(([, belongs]) => belongs(before) && !belongs(spec));
  const nodePorts = ({ ports }: ServiceSpec): unknown[] =>
    [...new Set((ports ?? []).map(({ nodePort }) => nodePort).filter((port) => port))].sort();
  if (hasNodePorts(before) && !hasNodePorts(spec) && deepEqual(nodePorts(spec), nodePorts(before))) {
    for (const port of spec.ports ?? []) delete port.nodePort;
  }
  for (const [name] of dropped) delete spec[name];
}
