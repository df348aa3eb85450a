/** Why the node does not admit a pod. Upstream: pkg/kubelet/lifecycle/interfaces.go, PodAdmitResult. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}
