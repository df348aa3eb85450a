import type { Container, PodSpec } from "../generated/core/v1.ts";

/**
 * Whether an init container is a sidecar (KEP-753): one that goes on running beside the others.
 * `restartPolicyRules` and the other policies of a container (KEP-5307) do not make a sidecar. Not for
 * containers of `spec.containers`, which may have the policy `Always` too.
 *
 * Upstream: pkg/api/v1/pod/util.go, IsRestartableInitContainer.
 */
export function isSidecar(initContainer: Pick<Container, "restartPolicy">): boolean {
  return initContainer.restartPolicy === "Always";
}

/** The sidecars of a pod, in their order. */
export function sidecarsOf(spec: Pick<PodSpec, "initContainers">): Container[] {
  return (spec.initContainers ?? []).filter(isSidecar);
}

/**
 * Whether a container that ended with `exitCode` is started again: by the first of its rules that matches,
 * else by its own policy, else by the pod's. For init containers other than sidecars it applies after a
 * failure only: one that succeeded is done.
 *
 * The action `RestartAllContainers` is for `restartsAllAfter`: here such a rule falls back to the container's
 * policy.
 *
 * Upstream: pkg/api/v1/pod/util.go, ContainerShouldRestart (KEP-5307).
 */
export function restartsAfter(
  spec: Pick<PodSpec, "restartPolicy">,
  container: Pick<Container, "restartPolicy" | "restartPolicyRules">,
  exitCode: number,
): boolean {
  if (container.restartPolicy) {
    if (matchingRule(container, exitCode)?.action === "Restart") return true;
    const own = byPolicy(container.restartPolicy, exitCode);
    if (own !== undefined) return own;
  }
  return byPolicy(spec.restartPolicy ?? "", exitCode) ?? true;
}

/**
 * Whether the end of a container with `exitCode` restarts all containers of its pod in place: the first of
 * its rules that matches says so.
 *
 * Upstream: pkg/kubelet/container/helpers.go, ShouldAllContainersRestart (KEP-5532).
 */
export function restartsAllAfter(
  container: Pick<Container, "restartPolicyRules">,
  exitCode: number,
): boolean {
  return matchingRule(container, exitCode)?.action === "RestartAllContainers";
}

/** Upstream: pkg/api/v1/pod/util.go, AllContainersCouldRestart. */
export function canRestartAll({
  containers = [],
  initContainers = [],
}: Partial<Pick<PodSpec, "containers" | "initContainers">>): boolean {
  return [...initContainers, ...containers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
  );
}

function matchingRule({ restartPolicyRules = [] }: Pick<Container, "restartPolicyRules">, exitCode: number) {
  return restartPolicyRules.find(({ exitCodes }) => {
    const among = exitCodes?.values?.includes(exitCode) ?? false;
    return exitCodes?.operator === "In" ? among : exitCodes?.operator === "NotIn" && !among;
  });
}

function byPolicy(policy: string, exitCode: number): boolean | undefined {
  if (policy === "OnFailure") return exitCode !== 0;
  return policy === "Always" ? true : policy === "Never" ? false : undefined;
}
