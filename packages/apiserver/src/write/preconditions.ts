import { invalid, type KubeObject, quoted, type StatusError } from "@dray/api";
import { conflict, serverError } from "../errors/status.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { DeleteOptions } from "../request/options.ts";
import type { Stored } from "../storage/cache.ts";

/** 409: another write came between reading and writing. */
export function modified(served: ServedResource, name: string): StatusError {
  return conflict(
    served,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

/**
 * Checks an update against the stored object: uid (if it replaces the whole object) and resourceVersion.
 * Throws 409, and 422 if the kind requires a resourceVersion.
 */
export function checkVersion(
  served: ServedResource,
  object: KubeObject,
  current: Stored,
  { replaces, dryRun }: { readonly replaces: boolean; readonly dryRun: boolean },
): void {
  const old = current.object;
  const { name } = old.metadata;
  const { uid, resourceVersion } = object.metadata;
  if (replaces && uid && uid !== old.metadata.uid) {
    throw otherStored(
      { served, name, key: current.key, dryRun },
      {
        field: "UID",
        sent: uid,
        stored: old.metadata.uid,
      },
    );
  }
  if (resourceVersion && resourceVersion !== "0") {
    checkIsVersion(resourceVersion);
    if (Number(resourceVersion) !== current.revision) throw modified(served, name);
  } else if ((replaces || resourceVersion !== undefined) && served.facts.needsVersion) {
    throw invalid({ group: served.group, kind: served.resource }, name, [
      {
        type: "Invalid",
        path: "metadata.resourceVersion",
        value: "0",
        detail: "must be specified for an update",
      },
    ]);
  }
}

/** Upstream: pkg/kubeapiserver/default_storage_factory_builder.go, SpecialDefaultResourcePrefixes */
const prefixes: Readonly<Record<string, string>> = {
  endpoints: "services/endpoints",
  ingresses: "ingress",
  nodes: "minions",
  replicationcontrollers: "controllers",
  services: "services/specs",
};

/**
 * Returns upstream's key: for custom resources it begins with the group, and in a dry run it has no prefix.
 */
function shownKey({ group, resource, facts, stored }: ServedResource, key: string, dryRun: boolean): string {
  const own = stored.resource;
  const prefix = facts.schemaless ? `${group}/${resource}` : (prefixes[own] ?? own);
  const shown = key.replace(`/${own}/`, `/${prefix}/`);
  return dryRun ? shown.replace("/registry/", "/") : shown;
}

interface Precondition {
  readonly field: "UID" | "ResourceVersion";
  readonly sent: string;
  /** Empty if nothing is stored. */
  readonly stored: string;
}

/** The name and the key of a stored object in messages. */
interface StoredName {
  readonly served: ServedResource;
  readonly name: string;
  readonly key: string;
  readonly dryRun: boolean;
}

/** Creates a 409: a precondition of the sent object does not match the stored one. */
export function otherStored(
  { served, name, key, dryRun }: StoredName,
  { field, sent, stored }: Precondition,
): StatusError {
  const precondition = `Precondition failed: ${field} in precondition: ${sent}, ${field} in object meta: ${stored}`;
  return conflict(
    served,
    name,
    `StorageError: invalid object, Code: 4, Key: ${shownKey(served, key, dryRun)}, ResourceVersion: 0, AdditionalErrorMsg: ${precondition}`,
  );
}

/** Checks uid and resourceVersion as the store does. Throws 409. */
export function checkStored(
  { uid, resourceVersion }: { readonly uid?: string; readonly resourceVersion?: string },
  { metadata }: KubeObject,
  place: Omit<StoredName, "name">,
): void {
  const differs = (precondition: Precondition): StatusError =>
    otherStored({ ...place, name: metadata.name }, precondition);
  if (uid && uid !== metadata.uid) throw differs({ field: "UID", sent: uid, stored: metadata.uid });
  if (resourceVersion && resourceVersion !== metadata.resourceVersion)
    throw differs({ field: "ResourceVersion", sent: resourceVersion, stored: metadata.resourceVersion });
}

/** Throws 500 for a resourceVersion that is not a number. */
export function checkIsVersion(resourceVersion: string): void {
  if (!/^\d+$/.test(resourceVersion))
    throw serverError(`strconv.ParseUint: parsing ${quoted(resourceVersion)}: invalid syntax`);
}

/** The preconditions of a DELETE. Throws 409. */
export function checkPreconditions(served: ServedResource, options: DeleteOptions, old: KubeObject): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const kind = { group: served.group, resource: served.kind };
  const name = old.metadata.name;
  // Namespaces have a deletion of their own, with its own messages.
  if (served.resource === "namespaces") {
    const failed = (field: string, expected: string, present: string): StatusError =>
      conflict(
        served,
        name,
        `Precondition failed: ${field} in precondition: ${expected}, ${field} in object meta: ${present}`,
      );
    if (uid !== undefined && uid !== old.metadata.uid) throw failed("UID", uid, old.metadata.uid);
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
      throw failed("ResourceVersion", resourceVersion, old.metadata.resourceVersion);
    }
  }
  if (uid !== undefined && uid !== old.metadata.uid) {
    throw conflict(
      kind,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${old.metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
    throw conflict(
      kind,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${old.metadata.resourceVersion}). The object might have been modified`,
    );
  }
}
