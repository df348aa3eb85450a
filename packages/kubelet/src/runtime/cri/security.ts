import { isAbsolute, join } from "node:path";
import {
  Capability,
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceMode,
  NamespaceOption,
  SecurityProfile,
} from "@dray/rpc/cri/v1";
import type { ContainerConfig, SandboxConfig, SecurityConfig } from "../config.ts";

/**
 * Masked and read-only paths of containers. Without them in the request the runtime hides nothing.
 *
 * Upstream: pkg/securitycontext/util.go, defaultMaskedPaths and defaultReadonlyPaths.
 */
const maskedPaths = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
];
const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/** Name spaces of a sandbox, and of the containers in it. */
function namespaceOptions(config: SandboxConfig): NamespaceOption {
  const { POD, CONTAINER, NODE } = NamespaceMode;
  return NamespaceOption.fromPartial({
    network: config.hostNetwork ? NODE : POD,
    pid: config.hostPID ? NODE : config.shareProcessNamespace ? POD : CONTAINER,
    ipc: config.hostIPC ? NODE : POD,
  });
}

/** `seccompRoot`: folder of profiles with a relative path. */
function seccompProfile(seccomp: SecurityConfig["seccomp"], seccompRoot: string): SecurityProfile {
  const { RuntimeDefault, Unconfined, Localhost } = {
    RuntimeDefault: 0,
    Unconfined: 1,
    Localhost: 2,
  } as const;
  if (seccomp === "unconfined") return SecurityProfile.fromPartial({ profileType: Unconfined });
  if (seccomp === "runtime/default") return SecurityProfile.fromPartial({ profileType: RuntimeDefault });
  const path = seccomp.slice("localhost/".length);
  const localhostRef = isAbsolute(path) ? path : join(seccompRoot, path);
  return SecurityProfile.fromPartial({ profileType: Localhost, localhostRef });
}

const int64 = (value: number | undefined) => (value === undefined ? undefined : { value: BigInt(value) });

/** The security context of a sandbox. */
export function sandboxSecurity(config: SandboxConfig, seccompRoot: string): LinuxSandboxSecurityContext {
  const { security } = config;
  return LinuxSandboxSecurityContext.fromPartial({
    namespaceOptions: namespaceOptions(config),
    runAsUser: int64(security.runAsUser),
    // The runtime refuses a group without a user.
    runAsGroup: security.runAsUser === undefined ? undefined : int64(security.runAsGroup),
    readonlyRootfs: security.readOnlyRootFilesystem,
    supplementalGroups: security.supplementalGroups.map(BigInt),
    privileged: security.privileged,
    seccomp: seccompProfile(security.seccomp, seccompRoot),
  });
}

/** The security context of a container, in the name spaces of its sandbox and of its target. */
export function containerSecurity(
  { security, target }: Pick<ContainerConfig, "security" | "target">,
  namespaces: NamespaceOption | undefined,
  seccompRoot: string,
): LinuxContainerSecurityContext {
  const { runAsUser, runAsUserName, runAsGroup, privileged } = security;
  return LinuxContainerSecurityContext.fromPartial({
    capabilities: Capability.fromPartial({
      addCapabilities: [...security.addCapabilities],
      dropCapabilities: [...security.dropCapabilities],
    }),
    privileged,
    namespaceOptions:
      namespaces && target ? { ...namespaces, pid: NamespaceMode.TARGET, targetId: target.id } : namespaces,
    runAsUser: int64(runAsUser),
    runAsGroup: int64(runAsGroup),
    runAsUsername: runAsUser === undefined ? (runAsUserName ?? "") : "",
    readonlyRootfs: security.readOnlyRootFilesystem,
    supplementalGroups: security.supplementalGroups.map(BigInt),
    noNewPrivs: security.noNewPrivileges,
    maskedPaths: privileged ? [] : maskedPaths,
    readonlyPaths: privileged ? [] : readonlyPaths,
    seccomp: seccompProfile(security.seccomp, seccompRoot),
  });
}
