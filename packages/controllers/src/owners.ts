import { apiVersionOf, type Kind, type KubeObject } from "@dray/api";
import type { ObjectMeta, OwnerReference } from "@dray/api/meta/v1";

/** The reference of the one owner that manages the object. */
export function controllerOf(object: { readonly metadata: ObjectMeta }): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** The reference that makes `owner` the controller of what bears it, and keeps it until that is gone (foreground). */
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

/** Whether a reference points to an object of the kind, whatever the version. */
export function refersTo(kind: Kind, reference: OwnerReference): boolean {
  return reference.kind === kind.kind && groupOf(reference.apiVersion) === kind.group;
}

/** `apps` of `apps/v1`, "" of `v1`. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
