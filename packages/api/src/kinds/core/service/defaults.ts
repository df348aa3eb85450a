import type { Service } from "../../../generated/core/v1.ts";
import type { Wire } from "../../../objects/wire.ts";

/** Default timeout of session affinity by client IP: three hours. */
const stickySeconds = 3 * 60 * 60;

export function defaultService(service: Wire<Service>): void {
  service.spec ??= {};
  const { spec } = service;
  spec.sessionAffinity ||= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === "ClientIP" && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds == null) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: stickySeconds } };
  }
  spec.type ||= "ClusterIP";
  for (const port of spec.ports ?? []) port.targetPort ||= port.port ?? 0;
  const outside = spec.type === "NodePort" || spec.type === "LoadBalancer";
  if (outside || (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0)) {
    spec.externalTrafficPolicy ||= "Cluster";
  }
  if (outside || spec.type === "ClusterIP") spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type === "LoadBalancer") {
    spec.allocateLoadBalancerNodePorts ??= true;
    for (const ingress of service.status?.loadBalancer?.ingress ?? []) {
      if (ingress.ip) ingress.ipMode ??= "VIP";
    }
  }
}
