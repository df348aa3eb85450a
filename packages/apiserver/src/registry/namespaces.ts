import type { Namespace } from "@dray/api/core/v1";
import type { Strategy } from "./strategy.ts";

/** Namespaces stay until whoever empties them takes `kubernetes` out of spec.finalizers. */
export const namespaces: Strategy = {
  prepareForCreate(object) {
    const namespace = object as Namespace;
    namespace.status = { phase: "Active" };
    const finalizers = namespace.spec?.finalizers ?? [];
    if (!finalizers.includes("kubernetes"))
      namespace.spec = { ...namespace.spec, finalizers: [...finalizers, "kubernetes"] };
    const { name } = namespace.metadata;
    // One without a name is about to be refused for that.
    if (!name) return;
    namespace.metadata.labels = { ...namespace.metadata.labels, "kubernetes.io/metadata.name": name };
  },

  prepareForUpdate(object, old, context) {
    const namespace = object as Namespace;
    const before = old as Namespace;
    if (context.subresource === "finalize") Object.assign(namespace, { status: before.status });
    else namespace.spec = { ...namespace.spec, ...finalizersOf(before) };
    if (context.subresource === "status") return;
    namespace.metadata.labels = {
      ...namespace.metadata.labels,
      "kubernetes.io/metadata.name": namespace.metadata.name,
    };
  },

  heldBack: (object) => ((object as Namespace).spec?.finalizers ?? []).length > 0,

  prepareForDelete(object) {
    const namespace = object as Namespace;
    namespace.status = { ...namespace.status, phase: "Terminating" };
    delete namespace.metadata.deletionGracePeriodSeconds;
  },
};

function finalizersOf(namespace: Namespace): { finalizers?: string[] } {
  return namespace.spec?.finalizers === undefined ? {} : { finalizers: namespace.spec.finalizers };
}
