/** A condition of CRI's `Status`. */
export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/**
 * Returns what keeps a runtime from running pods, in upstream's words. A missing condition counts as not met.
 *
 * Upstream: pkg/kubelet/kubelet.go, updateRuntimeUp; pkg/kubelet/container/runtime.go,
 * RuntimeCondition.String.
 */
export function runtimeProblems(conditions: readonly RuntimeCondition[]): readonly string[] {
  const problem = (type: string, text: string): readonly string[] => {
    const condition = conditions.find((one) => one.type === type);
    if (condition?.status === true) return [];
    return [`${text} not ready: ${condition === undefined ? "<nil>" : conditionText(condition)}`];
  };
  return [
    ...problem("RuntimeReady", "container runtime"),
    ...problem("NetworkReady", "container runtime network"),
  ];
}

function conditionText({ type, status, reason, message }: RuntimeCondition): string {
  return `${type}=${status} reason:${reason} message:${message}`;
}
