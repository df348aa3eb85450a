import { checkConditions } from "../../../checks/conditions.ts";
import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { StorageVersionMigration } from "../../../generated/storagemigration/v1.ts";
import { dns1035Label, dnsSubdomain } from "../../../values/names.ts";
import { defineKind } from "../../define.ts";

const conditionsPath = "status.conditions";

/** Upstream: pkg/apis/storagemigration/validation/validation.go; the names of finalizers are not checked. */
const storageVersionMigrationValidation = {
  create: checkMigration,

  update(errors: FieldErrors, object: StorageVersionMigration, old: StorageVersionMigration): void {
    checkMigration(errors, object);
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkImmutable(errors.at("spec"), object.spec, old.spec);
  },

  status(
    errors: FieldErrors,
    { metadata, status }: StorageVersionMigration,
    old: StorageVersionMigration,
  ): void {
    const version = status?.resourceVersion ?? "";
    const before = old.status?.resourceVersion ?? "";
    checkMetadataUpdate(errors.at("metadata"), metadata, old.metadata);
    for (const problem of resourceVersionProblem(version))
      errors.at("status.resourceVersion").invalid(version, problem);
    checkConditions(errors.at(conditionsPath), status?.conditions);
    if (before !== "" && before !== version)
      errors.at("status.resourceVersion").invalid(version, "field is immutable");
    checkOutcome(errors, status, old.status);
  },
};

function checkMigration(errors: FieldErrors, { metadata, spec }: StorageVersionMigration): void {
  const { group = "", resource = "" } = spec?.resource ?? {};
  checkMetadata(errors.at("metadata"), metadata, dnsSubdomain, false);
  if (resource === "") errors.at("spec.resource.resource").required("resource is required to be set");
  else errors.at("spec.resource.resource").check(dns1035Label, resource);
  if (group !== "") errors.at("spec.resource.group").check(dnsSubdomain, group);
}

/** Upstream: k8s.io/apimachinery, pkg/util/resourceversion, CompareResourceVersion */
function resourceVersionProblem(version: string): string[] {
  return version === "" || /^[1-9]\d*$/.test(version)
    ? []
    : [`resource version is not well formed: ${version}`];
}

type Status = StorageVersionMigration["status"];

const hasCondition = (status: Status, type: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;

/** A migration ends once, in one way. */
function checkOutcome(errors: FieldErrors, status: Status, old: Status): void {
  const conditions = status?.conditions ?? null;
  const [succeeded, failed] = [hasCondition(status, "Succeeded"), hasCondition(status, "Failed")];
  if (succeeded && failed)
    errors
      .at(conditionsPath)
      .invalid(conditions, "Both success and failed conditions cannot be true at the same time");
  for (const [ended, type, name] of [
    [succeeded, "Succeeded", "Success"],
    [failed, "Failed", "Failed"],
  ] as const) {
    if (hasCondition(old, type) && !ended)
      errors
        .at(conditionsPath)
        .invalid(conditions, `${name} condition cannot be set to false once it is true`);
  }
}

export const storageVersionMigration = defineKind(StorageVersionMigration, {
  validation: storageVersionMigrationValidation,
});
