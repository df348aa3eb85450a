import { apiVersionOf, type KubeObject } from "@dray/api";
import { builtInType, type ObjectType, trackUpdate } from "../patch/index.ts";
import { convert } from "./conversion/index.ts";
import type { ServedResource } from "./kinds.ts";

interface Version {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

type Plain = { readonly [key: string]: unknown };

/** The type of a served version, with the way to the other versions of its kind. */
export function objectType(served: Version, versions: readonly Version[] = []): ObjectType {
  const own = builtInType(apiVersionOf(served), served.kind);
  if (own === undefined) throw new Error(`the schema has no ${apiVersionOf(served)} ${served.kind}`);
  if (versions.length < 2) return own;
  return {
    ...own,
    inVersion(apiVersion) {
      const other = versions.find((version) => apiVersionOf(version) === apiVersion);
      const type = other && builtInType(apiVersion, other.kind);
      if (other === undefined || type === undefined) return undefined;
      const way = (from: Version, to: Version) => (object: Plain) =>
        convert(object as unknown as KubeObject, from, to) as unknown as Plain;
      return { type, to: way(served, other), from: way(other, served) };
    },
  };
}

/** Keeps metadata.managedFields: who last set which field. Drafts are changed in place. */
export class ManagedFields {
  readonly #versions = new Map<string, readonly ServedResource[]>();

  constructor(resources: readonly ServedResource[]) {
    for (const resource of resources) {
      const key = storedKey(resource);
      this.#versions.set(key, [...(this.#versions.get(key) ?? []), resource]);
    }
  }

  type(served: ServedResource): ObjectType {
    return objectType(served, this.#versions.get(storedKey(served)));
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

function storedKey({ stored }: ServedResource): string {
  return `${stored.group}/${stored.resource}`;
}

function take(target: KubeObject, source: KubeObject): void {
  const { managedFields } = source.metadata;
  if (managedFields === undefined) delete target.metadata.managedFields;
  else target.metadata.managedFields = managedFields;
}
