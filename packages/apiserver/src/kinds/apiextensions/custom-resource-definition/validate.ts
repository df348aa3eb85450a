import { dns1035Label, dnsSubdomain, type KubernetesVersion } from "@dray/api";
import type { CustomResourceDefinitionNames } from "@dray/api/apiextensions/v1";
import { checkImmutable, FieldErrors } from "@dray/api/validation";
import { atOnce, type Step } from "../../../request/pieces.ts";
import { checkApproval } from "./approval.ts";
import { checkConversion } from "./conversion.ts";
import { goVersions } from "./go-form.ts";
import { internalSpec } from "./internal.ts";
import { type Definition, isTrue } from "./types.ts";
import { checkColumns, checkDeprecation, checkSubresources } from "./version-rules.ts";
import { checkerOf } from "./version-schema.ts";

/** Validates a new definition without its metadata (apiextensions.k8s.io validation). */
export function validateDefinition(
  definition: Definition,
  release: KubernetesVersion,
  step = atOnce,
): FieldErrors {
  const errors = new FieldErrors({ release });
  checkSpec(errors, definition, undefined, step);
  checkStatus(errors, definition);
  checkApproval(errors, definition, undefined);
  checkPreserved(errors, definition, undefined);
  return errors;
}

/** Validates a definition that replaces a stored one; violations of the stored one are tolerated. */
export function validateDefinitionUpdate(
  definition: Definition,
  old: Definition,
  release: KubernetesVersion,
  step = atOnce,
): FieldErrors {
  const errors = new FieldErrors({ release });
  checkSpec(errors, definition, old, step);
  const [spec, before] = [definition.spec, old.spec];
  if (isTrue(old, "Established")) {
    checkImmutable(errors.at("spec.scope"), spec.scope, before.scope);
    checkImmutable(errors.at("spec.names.kind"), spec.names.kind, before.names.kind);
  }
  checkImmutable(errors.at("spec.group"), spec.group, before.group);
  checkImmutable(errors.at("spec.names.plural"), spec.names.plural, before.names.plural);
  checkStatus(errors, definition);
  checkApproval(errors, definition, old);
  checkPreserved(errors, definition, old);
  return errors;
}

/** Validates a new status. */
export function validateDefinitionStatus(definition: Definition, release: KubernetesVersion): FieldErrors {
  const errors = new FieldErrors({ release });
  checkNames(errors.at("status.acceptedNames"), definition.status?.acceptedNames);
  return errors;
}

function checkSpec(
  errors: FieldErrors,
  definition: Definition,
  old: Definition | undefined,
  step: Step,
): void {
  const { spec } = definition;
  const { shared, versions } = internalSpec(spec);
  const { group = "", names } = spec;
  if (group === "") errors.at("spec.group").required();
  else if (dnsSubdomain(group).length > 0)
    errors.at("spec.group").invalid(group, dnsSubdomain(group).join(","));
  else if (!group.includes(".")) {
    errors.at("spec.group").invalid(group, "should be a domain with at least one dot");
  }
  errors.at("spec.scope").oneOf(spec.scope, ["Cluster", "Namespaced"]);
  const whole = shared.schema?.openAPIV3Schema;
  const mayLackSchemas =
    old?.spec.versions?.some((version) => version.schema?.openAPIV3Schema === undefined) ?? false;
  versions.forEach((version, index) => {
    if (whole !== undefined || version.schema?.openAPIV3Schema !== undefined) return;
    const here = errors.at("spec.versions").index(index).at("schema.openAPIV3Schema");
    if (!mayLackSchemas) here.required();
    else if (version.served) here.required("because otherwise all fields are pruned");
  });
  const check = checkerOf(definition, old, errors.release, step);
  versions.forEach((version, index) => {
    const here = errors.at("spec.versions").index(index);
    const problems = dns1035Label(version.name ?? "");
    if (problems.length > 0) here.at("name").invalid(version.name ?? "", problems.join(","));
    const subresources = version.subresources ?? shared.subresources;
    checkDeprecation(here, version);
    check.schema(here.at("schema"), version.schema, subresources?.status !== undefined, version.name);
    checkSubresources(here.at("subresources"), version.subresources);
    checkColumns(here.at("additionalPrinterColumns"), version.additionalPrinterColumns);
    if ((version.selectableFields ?? []).length > 0 && version.schema?.openAPIV3Schema === undefined) {
      here
        .at("selectableFields")
        .invalid("", "may only be set when `version.schema.openAPIV3Schema` is not included");
    } else check.selectable(here, version.selectableFields, version.schema, version.name);
  });
  const many = versions.map((version) => version.name);
  if (new Set(many).size < many.length) {
    errors.at("spec.versions").invalid(goVersions(versions), "must contain unique version names");
  }
  if (versions.filter((version) => version.storage).length !== 1) {
    // Empty and absent lists cannot be distinguished any more.
    const shown = versions.length === 0 ? null : goVersions(versions);
    errors.at("spec.versions").invalid(shown, "must have exactly one version marked as storage version");
  }
  const first = many[0];
  if (first) {
    const problems = dns1035Label(first);
    if (problems.length > 0) errors.at("spec.version").invalid(first, problems.join(","));
  }
  if (!names?.plural) errors.at("spec.names.plural").required();
  if (!names?.singular) errors.at("spec.names.singular").required();
  if (!names?.kind) errors.at("spec.names.kind").required();
  if (!names?.listKind) errors.at("spec.names.listKind").required();
  checkNames(errors.at("spec.names"), names);
  const anyStatus = spec.versions?.some((version) => version.subresources?.status !== undefined) ?? false;
  check.schema(errors.at("spec.validation"), shared.schema, anyStatus, first);
  checkSubresources(errors.at("spec.subresources"), shared.subresources);
  checkColumns(errors.at("spec.additionalPrinterColumns"), shared.additionalPrinterColumns);
  if ((shared.selectableFields ?? []).length > 0 && shared.schema === undefined) {
    errors.at("spec.selectableFields").invalid("", "may only be set when validations.schema is included");
  } else check.selectable(errors.at("spec"), shared.selectableFields, shared.schema, "");
  checkConversion(errors, definition, old);
}

function checkNames(errors: FieldErrors, names: Partial<CustomResourceDefinitionNames> | undefined): void {
  if (names === undefined) return;
  const check = (at: string, value: string | undefined, prefix = "", mixed = false): void => {
    if (!value) return;
    const problems = dns1035Label(mixed ? value.toLowerCase() : value);
    if (problems.length > 0) errors.at(at).invalid(value, prefix + problems.join(","));
  };
  const mixed = "may have mixed case, but should otherwise match: ";
  check("plural", names.plural);
  check("singular", names.singular);
  check("kind", names.kind, mixed, true);
  check("listKind", names.listKind, mixed, true);
  const each = (field: "shortNames" | "categories"): void => {
    names[field]?.forEach((value, index) => {
      const problems = dns1035Label(value);
      if (problems.length > 0) errors.at(field).index(index).invalid(value, problems.join(","));
    });
  };
  each("shortNames");
  if (names.kind && names.kind === names.listKind) {
    errors.at("listKind").invalid(names.listKind, "kind and listKind may not be the same");
  }
  each("categories");
}

function checkStatus(errors: FieldErrors, definition: Definition): void {
  checkNames(errors.at("status.acceptedNames"), definition.status?.acceptedNames);
  const stored = definition.status?.storedVersions ?? [];
  const here = errors.at("status.storedVersions");
  if (stored.length === 0) {
    here.invalid(null, "must have at least one stored version");
    return;
  }
  const versions = definition.spec.versions ?? [];
  const names = new Set(versions.map(({ name }) => name));
  const unmatched = new Set(stored);
  for (const { name, storage } of versions) {
    if (!unmatched.delete(name) && storage) {
      here.invalid(stored, `must have the storage version ${name}`);
    }
  }
  stored.forEach((name, index) => {
    if (names.has(name)) return;
    here
      .index(index)
      .invalid(
        name,
        `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
      );
  });
}

function checkPreserved(errors: FieldErrors, definition: Definition, old: Definition | undefined): void {
  if (old?.spec.preserveUnknownFields || !definition.spec.preserveUnknownFields) return;
  errors
    .at("spec.preserveUnknownFields")
    .invalid(
      true,
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
    );
}
