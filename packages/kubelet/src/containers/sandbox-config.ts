import type { Node, Pod } from "@dray/api/core/v1";
import type { NodePaths } from "../base/paths.ts";
import { type BoundsOptions, hasOwnLimits, podResources } from "../resources/resource-config.ts";
import type { PortMapping, SandboxConfig } from "../runtime/config.ts";
import { podLogDirectory } from "./container-config.ts";
import { type ClusterDns, type PodDns, podDns } from "./dns.ts";
import { kernelHostname } from "./hostname.ts";
import { sandboxSecurity } from "./security.ts";

/**
 * Generates the configuration of a pod's sandbox, and warnings for its events. Throws RuntimeError if it
 * cannot.
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go, generatePodSandboxConfig.
 */
export function sandboxConfig(
  pod: Pod,
  attempt: number,
  runtimeHandler: string,
  node: {
    readonly paths: NodePaths;
    readonly dns: ClusterDns;
    readonly podMaxPids: number | undefined;
    readonly bounds: BoundsOptions;
    node(): Node;
  },
): { readonly config: SandboxConfig; readonly warnings: PodDns["warnings"] } {
  const { metadata, spec } = pod;
  const { namespace, name, uid, labels = {}, annotations = {} } = metadata;
  const dns = podDns(pod, node.dns);
  const config: SandboxConfig = {
    namespace,
    name,
    uid,
    attempt,
    hostname: kernelHostname(pod, node.dns.domain) || node.node().metadata.name,
    labels,
    annotations,
    logDirectory: podLogDirectory(node.paths, pod),
    dns: dns.config,
    ports: portMappings(pod),
    hostNetwork: spec.hostNetwork ?? false,
    hostPID: spec.hostPID ?? false,
    hostIPC: spec.hostIPC ?? false,
    shareProcessNamespace: spec.shareProcessNamespace ?? false,
    sysctls: Object.fromEntries((spec.securityContext?.sysctls ?? []).map((one) => [one.name, one.value])),
    security: sandboxSecurity(pod),
    resources: {
      ...podResources(pod, node.bounds),
      ...(node.podMaxPids === undefined ? {} : { pidsLimit: node.podMaxPids }),
    },
    hasOwnLimits: hasOwnLimits(pod, node.bounds),
    runtimeHandler,
  };
  return { config, warnings: dns.warnings };
}

/** A pod in the node's network needs no port mappings. */
function portMappings({ spec }: Pod): PortMapping[] {
  if (spec.hostNetwork) return [];
  const ports = [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ ports = [] }) => ports);
  return ports
    .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0)
    .map(({ protocol = "TCP", containerPort, hostPort = 0, hostIP = "" }) => ({
      protocol: protocol as PortMapping["protocol"],
      containerPort,
      hostPort,
      hostIP,
    }));
}
