import { apiVersionOf, type KubeObject, type KubernetesVersion, type Provenance } from "@dray/api";
import { convert } from "../kinds/conversion.ts";
import type { ModelledKind } from "../kinds/model.ts";
import { modelOf } from "../kinds/models.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { type ObjectType, type TrackUpdateOptions, trackUpdate } from "../patch/index.ts";
import { atOnce } from "../request/pieces.ts";

type Plain = { readonly [key: string]: unknown };

/**
 * Returns the type of a version, with the conversion to other versions of its kind, which `find` looks up.
 */
export function objectType(
  served: ModelledKind,
  find: (apiVersion: string) => ModelledKind | undefined = () => undefined,
): ObjectType {
  return {
    ...modelOf(served).objectType,
    inVersion(apiVersion) {
      const other = find(apiVersion);
      // Fields that managers have set in another version are not converted by a webhook.
      if (other === undefined || other.model?.conversion !== undefined) return undefined;
      // KubeObject has no index signature.
      const way = (from: ModelledKind, to: ModelledKind) => (object: Plain) =>
        convert(object as unknown as KubeObject, from, to) as unknown as Plain;
      return { type: modelOf(other).objectType, to: way(served, other), from: way(other, served) };
    },
  };
}

/** Manager, subresource and time of a change, and the provenance of the object. */
interface FieldUpdate
  extends Pick<TrackUpdateOptions<KubeObject>, "manager" | "subresource" | "now" | "step"> {
  readonly provenance: Provenance;
}

/** Maintains metadata.managedFields. Drafts are changed in place. */
export class ManagedFields {
  readonly #resources: readonly ServedResource[];
  readonly #release: KubernetesVersion;
  readonly #types = new WeakMap<ServedResource, ObjectType>();

  /** `resources` may change: the list is read on each use. */
  constructor(resources: readonly ServedResource[], release: KubernetesVersion) {
    this.#resources = resources;
    this.#release = release;
  }

  type(served: ServedResource): ObjectType {
    const known = this.#types.get(served);
    if (known !== undefined) return known;
    const { group, resource } = served.stored;
    const type = objectType(served, (apiVersion) =>
      this.#resources.find(
        (other) =>
          other.stored.resource === resource &&
          other.stored.group === group &&
          apiVersionOf(other) === apiVersion,
      ),
    );
    this.#types.set(served, type);
    return type;
  }

  /** For a new object; `draft` is in the served version. */
  created(served: ServedResource, draft: KubeObject, { provenance, ...update }: FieldUpdate): void {
    const { step = atOnce } = update;
    const updated = trackUpdate({
      ...update,
      live: undefined,
      updated: step(() => provenance.withEmpty(draft)),
      type: this.type(served),
    });
    take(draft, updated);
  }

  /** For an update; both are in the stored version. */
  updated(
    served: ServedResource,
    object: KubeObject,
    old: KubeObject,
    { provenance, ...update }: FieldUpdate,
  ): void {
    const { step = atOnce } = update;
    const { live, shown } = step(() => ({
      live: convert(old, served.stored, served),
      shown: provenance.withEmpty(convert(object, served.stored, served, provenance)),
    }));
    const updated = trackUpdate({
      ...update,
      live,
      updated: asSent(shown, object, provenance),
      type: this.type(served),
      keepsEntries: this.#release >= "1.37",
    });
    take(object, updated);
  }
}

/** An empty list stops the tracking, an absent list does not: so lists that decoding has dropped count. */
function asSent(shown: KubeObject, object: KubeObject, provenance: Provenance): KubeObject {
  if (object.metadata.managedFields !== undefined || !provenance.cameEmpty(object.metadata, "managedFields"))
    return shown;
  return { ...shown, metadata: { ...shown.metadata, managedFields: [] } };
}

function take(target: KubeObject, source: KubeObject): void {
  const { managedFields } = source.metadata;
  if (managedFields === undefined) delete target.metadata.managedFields;
  else target.metadata.managedFields = managedFields;
}
