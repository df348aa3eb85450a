import type { Pod, Service, ServicePort } from "@dray/api/core/v1";
import { addressText, parseSloppyAddress, unmapped } from "@dray/api/ip";
import { isPodReady, isPodTerminal, isSidecar } from "@dray/api/pod";

/** On Endpoints and EndpointSlices of Services without an address of their own. */
export const headlessLabel = "service.kubernetes.io/headless";
export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
/** On Endpoints that old components elect their leader with: no Service belongs to them. */
export const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";

export function isHeadless({ spec }: Service): boolean {
  return spec.clusterIP === "None" || !spec.clusterIP;
}

/** Reports whether the controllers choose the endpoints of the Service; others are written by their users. */
export function hasSelector({ spec }: Service): boolean {
  return spec.type !== "ExternalName" && Object.keys(spec.selector ?? {}).length > 0;
}

/** Upstream: k8s.io/endpointslice/util/controller_utils.go, ShouldPodBeInEndpoints. */
export function belongsInEndpoints(pod: Pod, includeTerminating: boolean): boolean {
  if (isPodTerminal(pod)) return false;
  if (!pod.status?.podIP && !pod.status?.podIPs?.length) return false;
  return includeTerminating || pod.metadata.deletionTimestamp === undefined;
}

/** The pod's addresses of a family, in their canonical form. */
export function podAddresses(pod: Pod, bits: 32 | 128): string[] {
  return (pod.status?.podIPs ?? []).flatMap(({ ip }) => {
    const address = parseSloppyAddress(ip);
    if (address === undefined) return [];
    const plain = unmapped(address);
    return plain.bits === bits ? [addressText(plain)] : [];
  });
}

/**
 * The port of the pod that a port of the Service leads to; undefined if no container has a port of that name.
 * Upstream: k8s.io/endpointslice/utils.go, FindPort.
 */
export function targetPortOf(pod: Pod, port: ServicePort): number | undefined {
  const { targetPort = port.port, protocol = "TCP" } = port;
  if (typeof targetPort === "number") return targetPort || port.port;
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
  return containers
    .flatMap(({ ports = [] }) => ports)
    .find((one) => one.name === targetPort && (one.protocol ?? "TCP") === protocol)?.containerPort;
}

/** The name of the pod below the Service that it names as its subdomain. */
export function hostnameIn(pod: Pod, { metadata }: Service): string | undefined {
  const { hostname, subdomain } = pod.spec;
  return hostname && subdomain === metadata.name ? hostname : undefined;
}

/** Upstream: k8s.io/endpointslice/util/controller_utils.go, podEndpointsChanged. */
export function endpointChanged(pod: Pod, old: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp !== old.metadata.deletionTimestamp ||
    isPodTerminal(pod) !== isPodTerminal(old) ||
    isPodReady(pod) !== isPodReady(old) ||
    ipsOf(pod) !== ipsOf(old)
  );
}

function ipsOf({ status }: Pod): string {
  return (status?.podIPs ?? []).map(({ ip }) => ip).join();
}
