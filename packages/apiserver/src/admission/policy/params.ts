import { type KubeObject, labelSelectorOf } from "@dray/api";
import type { ParamKind, ParamRef } from "@dray/api/admissionregistration/v1";
import { convert } from "../../kinds/conversion.ts";
import type { ServedResource } from "../../kinds/resources.ts";
import type { ObjectReader } from "../../read/objects.ts";

/** An invalid configuration of a policy or a binding; the failure policy decides the outcome. */
export class ConfigurationError extends Error {}

/** Returns the resource of the parameters of a policy. Throws ConfigurationError. */
export function paramResource(
  { apiVersion = "", kind = "" }: ParamKind,
  resources: Iterable<ServedResource>,
): ServedResource {
  const [group, version] = apiVersion.includes("/")
    ? (apiVersion.split("/") as [string, string])
    : ["", apiVersion];
  for (const served of resources) {
    if (served.group === group && served.version === version && served.kind === kind) return served;
  }
  throw new ConfigurationError(
    `failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind}'`,
  );
}

/**
 * Returns the parameter objects of a binding, in the version of paramKind; an empty list if none is found and
 * the binding permits that. Throws ConfigurationError.
 */
export function collectParams(
  ref: ParamRef,
  served: ServedResource,
  requestNamespace: string,
  reader: ObjectReader,
): KubeObject[] {
  const found = find(ref, served, paramNamespace(ref, served, requestNamespace), reader);
  if (found.length === 0 && ref.parameterNotFoundAction === "Deny") {
    throw new ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return found.map((object) => convert(object, served.stored, served));
}

function paramNamespace(ref: ParamRef, served: ServedResource, requestNamespace: string): string {
  if (!served.namespaced) {
    if (ref.namespace) {
      throw new ConfigurationError(
        "paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
      );
    }
    return "";
  }
  const namespace = ref.namespace || requestNamespace;
  if (namespace !== "") return namespace;
  throw new ConfigurationError(
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
  );
}

function find(ref: ParamRef, served: ServedResource, namespace: string, reader: ObjectReader): KubeObject[] {
  const cache = reader.cache(served);
  if (ref.name) {
    const stored = reader.find(served, namespace, ref.name);
    return stored === undefined ? [] : [stored.object];
  }
  const selection = labelSelectorOf(ref.selector);
  const prefix = namespace === "" ? cache.prefix : `${cache.prefix}${namespace}/`;
  return [...cache.range(prefix)]
    .map(({ object }) => object)
    .filter((object) => selection.matches(object.metadata.labels));
}
