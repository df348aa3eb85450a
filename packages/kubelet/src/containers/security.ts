import type { Pod, SeccompProfile } from "@dray/api/core/v1";
import type { SecurityConfig } from "../runtime/config.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { Image } from "../runtime/images.ts";
import type { StartableContainer } from "../types/containers.ts";

/**
 * Users and rights of the processes of a container: fields of the container override those of its pod.
 *
 * Upstream: pkg/securitycontext/util.go, DetermineEffectiveSecurityContext;
 * pkg/kubelet/kuberuntime/security_context.go.
 */
export function containerSecurity(pod: Pod, container: StartableContainer): SecurityConfig {
  const ofPod = pod.spec.securityContext ?? {};
  const own = container.securityContext ?? {};
  const runAsUser = own.runAsUser ?? ofPod.runAsUser;
  const runAsGroup = own.runAsGroup ?? ofPod.runAsGroup;
  const privileged = own.privileged ?? false;
  return {
    privileged,
    ...(runAsUser === undefined ? {} : { runAsUser: Number(runAsUser) }),
    ...(runAsGroup === undefined ? {} : { runAsGroup: Number(runAsGroup) }),
    supplementalGroups: groupsOf(pod),
    ...(mustNotBeRoot(pod, container) ? { runAsNonRoot: true } : {}),
    readOnlyRootFilesystem: own.readOnlyRootFilesystem ?? false,
    noNewPrivileges: own.allowPrivilegeEscalation === false,
    addCapabilities: (own.capabilities?.add ?? []).map(capability),
    dropCapabilities: (own.capabilities?.drop ?? []).map(capability),
    seccomp: privileged ? "unconfined" : seccomp(own.seccompProfile ?? ofPod.seccompProfile),
  };
}

/** Users and rights of the sandbox of a pod. */
export function sandboxSecurity(pod: Pod): SecurityConfig {
  const { runAsUser, runAsGroup, seccompProfile } = pod.spec.securityContext ?? {};
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return {
    privileged: all.some(({ securityContext }) => securityContext?.privileged === true),
    ...(runAsUser === undefined ? {} : { runAsUser: Number(runAsUser) }),
    ...(runAsGroup === undefined ? {} : { runAsGroup: Number(runAsGroup) }),
    supplementalGroups: groupsOf(pod),
    readOnlyRootFilesystem: false,
    noNewPrivileges: false,
    addCapabilities: [],
    dropCapabilities: [],
    seccomp: seccomp(seccompProfile),
  };
}

function mustNotBeRoot({ spec }: Pod, { securityContext }: StartableContainer): boolean {
  return (securityContext?.runAsNonRoot ?? spec.securityContext?.runAsNonRoot) === true;
}

/**
 * Throws CreateContainerConfigError for a container with `runAsNonRoot` that would run as root. `isRoot`: so
 * does the program of an image that names no user.
 *
 * Upstream: pkg/kubelet/kuberuntime/security_context_others.go, verifyRunAsNonRoot.
 */
export function checkNonRoot(
  pod: Pod,
  container: StartableContainer,
  { user }: Pick<Image, "user">,
  isRoot: boolean,
): void {
  const own = container.securityContext ?? {};
  const ofPod = pod.spec.securityContext ?? {};
  if (!mustNotBeRoot(pod, container)) return;
  const where = `(pod: "${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})", container: ${container.name})`;
  const asUser = own.runAsUser ?? ofPod.runAsUser;
  if (asUser !== undefined) {
    if (Number(asUser) === 0) throw refusal(`container's runAsUser breaks non-root policy ${where}`);
    return;
  }
  if (typeof user === "string")
    throw refusal(
      `container has runAsNonRoot and image has non-numeric user (${user}), cannot verify user is non-root ${where}`,
    );
  if (user === 0 || (user === undefined && isRoot))
    throw refusal(`container has runAsNonRoot and image will run as root ${where}`);
}

function refusal(message: string): RuntimeError {
  return new RuntimeError("CreateContainerConfigError", message);
}

function groupsOf({ spec: { securityContext } }: Pod): number[] {
  const { supplementalGroups = [], fsGroup } = securityContext ?? {};
  return [...supplementalGroups, ...(fsGroup === undefined ? [] : [fsGroup])].map(Number);
}

/** Removes the prefix `CAP_`, which not all runtimes accept. */
function capability(name: string): string {
  return name.replace(/^CAP_/i, "").toUpperCase();
}

function seccomp(profile: SeccompProfile | undefined): SecurityConfig["seccomp"] {
  if (profile?.type === "RuntimeDefault") return "runtime/default";
  if (profile?.type === "Localhost") return `localhost/${profile.localhostProfile ?? ""}`;
  return "unconfined";
}
