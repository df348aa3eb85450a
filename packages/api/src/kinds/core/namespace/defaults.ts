import type { Namespace } from "../../../generated/core/v1.ts";
import type { Wire } from "../../../objects/wire.ts";

export function defaultNamespace(namespace: Wire<Namespace>): void {
  const { metadata } = namespace;
  if (metadata?.name) {
    metadata.labels ??= {};
    metadata.labels["kubernetes.io/metadata.name"] ??= metadata.name;
  }
  namespace.status ??= {};
  namespace.status.phase ||= "Active";
}
