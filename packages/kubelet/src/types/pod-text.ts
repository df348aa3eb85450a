import type { Pod } from "@dray/api/core/v1";

/** Name of a pod in events and messages. Upstream: pkg/kubelet/util/format/pod.go, Pod. */
export function podText({ metadata: { name, namespace, uid } }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}
