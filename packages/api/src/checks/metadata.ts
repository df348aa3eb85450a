import type { ObjectMeta, OwnerReference } from "../generated/meta/v1.ts";
import { quoted } from "../text/quoted.ts";
import {
  byteLength,
  dnsLabel,
  isLabelValue,
  type NameRule,
  pathSegment,
  qualifiedName,
} from "../values/names.ts";
import { checkImmutable, type FieldErrors } from "./field.ts";

/** All annotations of an object together, in bytes. */
const annotationsLimit = 256 * 1024;
/** Finalizers that need no domain. */
const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

/** A prefix may end in dashes, because characters follow. */
function asPrefix(rule: NameRule): NameRule {
  return (value) =>
    rule(value.length > 1 ? value.replace(/-+$/, (dashes) => "a".repeat(dashes.length)) : value);
}

export function checkLabels(errors: FieldErrors, labels: Readonly<Record<string, string>> | undefined): void {
  for (const key in labels) {
    if (errors.full) return;
    errors.check(qualifiedName, key);
    errors.check(isLabelValue, labels[key]!);
  }
}

export function checkAnnotations(
  errors: FieldErrors,
  annotations: Readonly<Record<string, string>> | undefined,
): void {
  let size = 0;
  for (const key in annotations) {
    for (const problem of qualifiedName(key.toLowerCase())) errors.invalid(key, problem);
    size += byteLength(key) + byteLength(annotations[key]!);
  }
  if (size > annotationsLimit) errors.tooLong(annotationsLimit);
}

/** Upstream: staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go, ValidateOwnerReferences */
function checkOwner(owners: FieldErrors, index: number, owner: OwnerReference): void {
  const { apiVersion = "", kind = "" } = owner;
  const parts = apiVersion.split("/");
  const version = parts.length === 1 ? parts[0] : parts[1];
  const wrong = parts.length > 2 || !version;
  const fields = ["kind", "name", "uid"] as const;
  const byIndex = owners.release >= "1.37";
  const here = byIndex ? owners.index(index) : owners;
  if (byIndex) {
    const required = (name: string): void => here.at(name).required("must not be empty");
    if (apiVersion === "") required("apiVersion");
    else if (wrong) here.at("apiVersion").invalid(apiVersion, "must be <group>/<version> or <version>");
    for (const name of fields) if (!owner[name]) required(name);
  } else {
    if (wrong) here.at("apiVersion").invalid(apiVersion, "version must not be empty");
    for (const name of fields) if (!owner[name]) here.at(name).invalid("", "must not be empty");
  }
  if (kind === "Event" && apiVersion === "v1")
    here.invalid(owner, "/v1, Kind=Event is disallowed from being an owner");
}

function checkOwners(errors: FieldErrors, owners: readonly OwnerReference[] | undefined): void {
  let controller: string | undefined;
  for (const [index, owner] of (owners ?? []).entries()) {
    checkOwner(errors, index, owner);
    if (!owner.controller) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller === undefined) controller = name;
    else {
      errors.invalid(
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
      );
    }
  }
}

/** Every object's metadata: what the server checks of all kinds. */
export function checkMetadata(
  errors: FieldErrors,
  metadata: ObjectMeta,
  rule: NameRule,
  namespaced: boolean,
): void {
  const { name, generateName, namespace } = metadata;
  if (generateName) errors.at("generateName").check(asPrefix(rule), generateName);
  if (!name) errors.at("name").required("name or generateName is required");
  else errors.at("name").check(rule, name);
  if (namespaced) errors.at("namespace").checkRequired(dnsLabel, namespace);
  else if (namespace) errors.at("namespace").forbidden("not allowed on this type");
  if (metadata.generation !== undefined && metadata.generation < 0) {
    errors.at("generation").invalid(metadata.generation, "must be greater than or equal to 0");
  }
  checkLabels(errors.at("labels"), metadata.labels);
  checkAnnotations(errors.at("annotations"), metadata.annotations);
  checkOwners(errors.at("ownerReferences"), metadata.ownerReferences);
  const finalizers = metadata.finalizers ?? [];
  for (const finalizer of finalizers) errors.at("finalizers").check(qualifiedName, finalizer);
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    errors.at("finalizers").invalid(finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
  }
}

/** Names of finalizers, which the kinds with rules of their own check once more. */
export function checkFinalizerNames(errors: FieldErrors, metadata: ObjectMeta): void {
  (metadata.finalizers ?? []).forEach((finalizer, index) => {
    const detail = "name is neither a standard finalizer name nor is it fully qualified";
    if (!finalizer.includes("/") && !standardFinalizers.includes(finalizer)) {
      errors.at("finalizers").index(index).invalid(finalizer, detail);
    }
  });
}

/** Metadata of what a template makes has labels and annotations; nothing else can be set there. */
const templateForbids = [
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "ownerReferences",
  "finalizers",
  "managedFields",
] as const;

export function checkTemplateMetadata(errors: FieldErrors, metadata: ObjectMeta | undefined): void {
  checkLabels(errors.at("labels"), metadata?.labels);
  checkAnnotations(errors.at("annotations"), metadata?.annotations);
  for (const name of templateForbids) {
    const value: unknown = metadata?.[name];
    // An int64 that is 0 is not set; the grace period is a pointer.
    const zero = value === "" || (value === 0 && name === "generation");
    const unset = value === undefined || value === null || zero;
    if (unset && !errors.provenance.cameEmpty(metadata, name)) continue;
    // Upstream writes this one name so.
    errors.at(name === "uid" ? "uID" : name).forbidden("cannot be set");
  }
}

/** Checks new metadata against the old: immutable fields, finalizers and generation. */
export function checkMetadataUpdate(errors: FieldErrors, metadata: ObjectMeta, old: ObjectMeta): void {
  if (old.deletionTimestamp) {
    const known = new Set(old.finalizers);
    const added = [...new Set(metadata.finalizers ?? [])].filter((finalizer) => !known.has(finalizer)).sort();
    if (added.length > 0) {
      errors
        .at("finalizers")
        .forbidden(
          "no new finalizers can be added if the object is being deleted, " +
            `found new finalizers []string{${added.map(quoted).join(", ")}}`,
        );
    }
  }
  if ((metadata.generation ?? 0) < (old.generation ?? 0)) {
    errors.at("generation").invalid(metadata.generation ?? 0, "must not be decremented");
  }
  checkImmutable(errors.at("name"), metadata.name, old.name);
  checkImmutable(errors.at("namespace"), metadata.namespace ?? "", old.namespace ?? "");
  // The server fills it in from the stored object where the client left it out; another creation time is
  // ignored.
  if (metadata.uid) checkImmutable(errors.at("uid"), metadata.uid, old.uid);
  const keeps = ["deletionTimestamp", "deletionGracePeriodSeconds"] as const;
  for (const name of keeps) checkImmutable(errors.at(name), metadata[name], old[name]);
  checkLabels(errors.at("labels"), metadata.labels);
  checkAnnotations(errors.at("annotations"), metadata.annotations);
  checkOwners(errors.at("ownerReferences"), metadata.ownerReferences);
}

/** Checks that apply to an update of any kind, before the rules of the kind. */
export function checkCommonUpdate(
  errors: FieldErrors,
  metadata: ObjectMeta,
  old: ObjectMeta,
  namespaced: boolean,
): void {
  checkMetadata(errors.at("metadata"), metadata, pathSegment, namespaced);
  checkMetadataUpdate(errors.at("metadata"), metadata, old);
}
