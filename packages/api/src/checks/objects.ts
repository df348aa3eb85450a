import type { KubeObject } from "../objects/object.ts";
import { dnsSubdomain, type NameRule } from "../values/names.ts";
import type { FieldErrors } from "./field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "./metadata.ts";

/** Metadata of a new object, the names of its finalizers among it. */
export function checkObject(
  errors: FieldErrors,
  object: KubeObject,
  rule: NameRule = dnsSubdomain,
  namespaced = true,
): void {
  checkMetadata(errors.at("metadata"), object.metadata, rule, namespaced);
  checkFinalizerNames(errors.at("metadata"), object.metadata);
}

export function checkObjectUpdate(errors: FieldErrors, object: KubeObject, old: KubeObject): void {
  checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), object.metadata);
}
