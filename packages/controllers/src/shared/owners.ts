import { apiVersionOf, type Kind, type KubeObject } from "@dray/api";
import type { OwnerReference } from "@dray/api/meta/v1";

export { controllerOf } from "@dray/api";

/**
 * The reference that makes `owner` the controller of an object, and blocks a foreground deletion of the
 * owner.
 */
export function controllerReference(kind: Kind, owner: KubeObject): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Reports whether a reference points to an object of the kind, whatever the version. */
export function refersTo(kind: Kind, reference: OwnerReference): boolean {
  return reference.kind === kind.kind && groupOf(reference.apiVersion) === kind.group;
}

/** `apps` of `apps/v1`, "" of `v1`. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
