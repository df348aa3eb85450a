import type { ContainerEdits } from "@dray/cdi";
import type { ContainerConfig, SandboxConfig } from "../config.ts";
import type { ContainerDevice } from "./access.ts";
import { type Bounds, unboundedOf } from "./bounds.ts";
import type { Isolation } from "./isolation.ts";

/**
 * Lists the fields of a sandbox that this runtime ignores: its containers are processes of the machine, in
 * the machine's network.
 */
export function unsupportedOfSandbox(config: SandboxConfig, isolation: Isolation, bounds: Bounds): string[] {
  const { pidsLimit, ...own } = config.resources ?? {};
  const resources = { ...(config.hasOwnLimits ? own : {}), ...(pidsLimit !== undefined && { pidsLimit }) };
  return [
    ...(config.shareProcessNamespace && !(isolation.type === "mounts" && isolation.pids)
      ? ["shareProcessNamespace"]
      : []),
    ...unboundedOf(bounds, resources).map((what) => `${what} of a whole pod`),
    ...(config.dns === undefined || isolation.type === "mounts" ? [] : ["dnsConfig"]),
    ...(config.ports.length > 0 ? ["hostPort"] : []),
    ...Object.keys(config.sysctls).map((name) => `sysctl ${name}`),
  ];
}

/** Lists the fields of a container that this runtime ignores. */
export function unsupportedOfContainer(
  { security }: ContainerConfig,
  edits: ContainerEdits,
  devices: readonly ContainerDevice[],
  isolated: boolean,
): string[] {
  return [
    ...(security.readOnlyRootFilesystem && !isolated ? ["readOnlyRootFilesystem"] : []),
    ...(security.seccomp === "unconfined" ? [] : ["seccompProfile"]),
    ...devices
      .filter(({ exists }) => !exists)
      .map(({ hostPath }) => `device ${hostPath}, which the machine lacks`),
    ...unsupportedEdits(edits),
  ];
}

/**
 * A process of the host has no OCI bundle for hooks, no network and no classes of its own, and the agent's
 * groups.
 */
function unsupportedEdits(edits: ContainerEdits): string[] {
  const names = ["hooks", "netDevices", "intelRdt", "additionalGids"] as const;
  return names.filter((name) => isPresent(edits[name])).map((name) => `${name} of CDI devices`);
}

function isPresent(edit: unknown): boolean {
  return Array.isArray(edit) ? edit.length > 0 : edit !== undefined;
}
