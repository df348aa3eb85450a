import type { Namespace } from "../../../generated/core/v1.ts";

export function defaultNamespace(namespace: Namespace): void {
  const { metadata } = namespace;
  if (metadata.name) {
    metadata.labels ??= {};
    metadata.labels["kubernetes.io/metadata.name"] ??= metadata.name;
  }
  namespace.status ??= {};
  namespace.status.phase ||= "Active";
}
