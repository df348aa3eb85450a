import type { KubeObject, Provenance } from "@dray/api";
import type { Kind } from "../encoding/codec.ts";
import { convert } from "../kinds/conversion.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { deepFreeze } from "../storage/json.ts";
import type { AdmissionRequest } from "./admission.ts";

/** A resource in one version, and the kind of the resource or its subresource in that version. */
export interface VersionedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: Kind;
  readonly served: ServedResource;
}

function versioned(served: ServedResource, subresource: string): VersionedResource {
  const { group, version, resource } = served;
  const own = { group, version, kind: served.kind };
  const facts = subresource === "" ? undefined : served.subresources.get(subresource);
  const kind: Kind =
    facts === undefined
      ? own
      : { group: facts.group ?? group, version: facts.version ?? version, kind: facts.kind };
  return { group, version, resource, kind, served };
}

/** Returns the resource that the client requested. */
export function requestedVersion({ served, subresource }: AdmissionRequest): VersionedResource {
  return versioned(served, subresource);
}

/**
 * Returns the same resource in other versions, and for events in the other group (matchPolicy Equivalent).
 */
export function* otherVersions(
  { served, subresource }: AdmissionRequest,
  resources: Iterable<ServedResource>,
): Generator<VersionedResource> {
  for (const other of resources) {
    if (other === served || other.stored.resource !== served.stored.resource) continue;
    if (other.stored.group !== served.stored.group) continue;
    if (other.group === served.group && other.version === served.version) continue;
    if (subresource !== "" && !other.subresources.has(subresource)) continue;
    yield versioned(other, subresource);
  }
}

/** Objects of a request in the version that a policy or a webhook requests. */
export interface VersionedObjects {
  readonly object?: KubeObject;
  readonly old?: KubeObject;
}

/**
 * Converts the objects of a request. The results share parts with the originals and must not be changed.
 * A list or map of the new object that is always written is empty if it came empty, and else null.
 */
export function objectsIn(request: AdmissionRequest, { served }: VersionedResource): VersionedObjects {
  const { object, old, provenance } = request;
  // A subresource with a kind of its own has one version only.
  const shown = (stored: KubeObject, from?: Provenance): KubeObject =>
    request.kind === undefined ? convert(stored, served.stored, served, from) : stored;
  const sent = object === undefined ? undefined : shown(object, provenance);
  return {
    ...(sent === undefined ? {} : { object: provenance?.withEmpty(sent) ?? sent }),
    ...(old === undefined ? {} : { old: deepFreeze(shown(old)) }),
  };
}

/** Returns the namespace of a request for admission; for a Namespace its own name. */
export function namespaceOf({ served, namespace, objectName }: AdmissionRequest): string {
  return isNamespaces(served) ? objectName : namespace;
}

export function isNamespaces({ group, resource }: Pick<ServedResource, "group" | "resource">): boolean {
  return group === "" && resource === "namespaces";
}
