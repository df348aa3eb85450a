import { apiVersionOf, type KubeObject } from "@dray/api";
import { type ObjectType, trackUpdate } from "../patch/index.ts";
import { convert } from "./conversion/index.ts";
import type { ServedResource } from "./kinds.ts";
import { type ModelledKind, modelOf } from "./model.ts";

type Plain = { readonly [key: string]: unknown };

/** The type of a served version, with the way to the other versions of its kind. */
export function objectType(served: ModelledKind, versions: readonly ModelledKind[] = []): ObjectType {
  const own = modelOf(served).objectType;
  if (versions.length < 2) return own;
  return {
    ...own,
    inVersion(apiVersion) {
      const other = versions.find((version) => apiVersionOf(version) === apiVersion);
      if (other === undefined) return undefined;
      const way = (from: ModelledKind, to: ModelledKind) => (object: Plain) =>
        convert(object as unknown as KubeObject, from, to) as unknown as Plain;
      return { type: modelOf(other).objectType, to: way(served, other), from: way(other, served) };
    },
  };
}

/** Keeps metadata.managedFields: who last set which field. Drafts are changed in place. */
export class ManagedFields {
  readonly #resources: readonly ServedResource[];

  /** `resources` may change: the list is looked at anew each time. */
  constructor(resources: readonly ServedResource[]) {
    this.#resources = resources;
  }

  type(served: ServedResource): ObjectType {
    const { group, resource } = served.stored;
    return objectType(
      served,
      this.#resources.filter(({ stored }) => stored.resource === resource && stored.group === group),
    );
  }

  /** For a new object; `draft` is in the served version. */
  created(
    served: ServedResource,
    draft: KubeObject,
    manager: string,
    subresource: string,
    now: string,
  ): void {
    const updated = trackUpdate({
      live: undefined,
      updated: draft,
      manager,
      type: this.type(served),
      subresource,
      now,
    });
    take(draft, updated);
  }

  /** For a change; both are in the stored version. */
  updated(
    served: ServedResource,
    object: KubeObject,
    old: KubeObject,
    manager: string,
    subresource: string,
    now: string,
  ): void {
    const updated = trackUpdate({
      live: convert(old, served.stored, served),
      updated: convert(object, served.stored, served),
      manager,
      type: this.type(served),
      subresource,
      now,
    });
    take(object, updated);
  }
}

function take(target: KubeObject, source: KubeObject): void {
  const { managedFields } = source.metadata;
  if (managedFields === undefined) delete target.metadata.managedFields;
  else target.metadata.managedFields = managedFields;
}
