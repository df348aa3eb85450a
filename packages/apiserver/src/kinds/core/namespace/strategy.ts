import type { Namespace } from "@dray/api/core/v1";
import type { Strategy } from "../../strategy.ts";

/**
 * A namespace stays until the namespace controller has emptied it and removes `kubernetes` from
 * spec.finalizers.
 */
export const namespaceStrategy: Strategy<Namespace> = {
  prepareForCreate(namespace) {
    namespace.status = { phase: "Active" };
    const finalizers = namespace.spec?.finalizers ?? [];
    if (!finalizers.includes("kubernetes"))
      namespace.spec = { ...namespace.spec, finalizers: [...finalizers, "kubernetes"] };
    const { name } = namespace.metadata;
    // A namespace without a name will be rejected.
    if (!name) return;
    namespace.metadata.labels = { ...namespace.metadata.labels, "kubernetes.io/metadata.name": name };
  },

  prepareForUpdate(namespace, before, context) {
    if (context.subresource === "finalize") Object.assign(namespace, { status: before.status });
    else {
      const { finalizers: _sent, ...spec } = namespace.spec ?? {};
      namespace.spec = { ...spec, ...finalizersOf(before) };
    }
    if (context.subresource === "status") return;
    namespace.metadata.labels = {
      ...namespace.metadata.labels,
      "kubernetes.io/metadata.name": namespace.metadata.name,
    };
  },

  heldBack: (object) => (object.spec?.finalizers ?? []).length > 0,

  /** Upstream: pkg/registry/core/namespace/storage/storage.go, REST.Delete */
  beginDeletion(namespace, { propagationPolicy }, { now }) {
    const { metadata } = namespace;
    metadata.deletionTimestamp = now;
    namespace.status = { ...namespace.status, phase: "Terminating" };
    if (propagationPolicy === undefined) return "mark";
    const finalizers = (metadata.finalizers ?? []).filter(
      (name) => name !== "orphan" && name !== "foregroundDeletion",
    );
    if (propagationPolicy === "Orphan") finalizers.push("orphan");
    if (propagationPolicy === "Foreground") finalizers.push("foregroundDeletion");
    if (finalizers.length > 0) metadata.finalizers = finalizers;
    else delete metadata.finalizers;
    return "mark";
  },
};

function finalizersOf(namespace: Namespace): { finalizers?: string[] } {
  return namespace.spec?.finalizers === undefined ? {} : { finalizers: namespace.spec.finalizers };
}
