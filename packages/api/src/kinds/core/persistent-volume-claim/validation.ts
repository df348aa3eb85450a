/** PersistentVolumeClaim. */

import { checkImmutable, type FieldErrors, goJson, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkLabelSelector } from "../../../checks/nodeselector.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import { unifiedDiff } from "../../../checks/unified-diff.ts";
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from "../../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

export function checkAccessModes(errors: FieldErrors, modes: readonly string[] | undefined): void {
  for (const mode of modes ?? []) {
    if (!accessModes.includes(mode)) errors.notSupported(mode, accessModes);
  }
  const known = (modes ?? []).filter((mode) => accessModes.includes(mode));
  if (known.includes("ReadWriteOncePod") && known.some((mode) => mode !== "ReadWriteOncePod")) {
    errors.forbidden("may not use ReadWriteOncePod with other access modes");
  }
}

export function checkVolumeMode(errors: FieldErrors, mode: string | undefined): void {
  if (mode === undefined || mode === null || mode === "Block" || mode === "Filesystem") return;
  errors.notSupported(mode, ["Block", "Filesystem"]);
}

interface Source {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

function checkSource(errors: FieldErrors, source: Source | undefined, anyGroup: boolean): void {
  if (!source) return;
  if (!source.name) errors.at("name").required();
  if (!source.kind) errors.at("kind").required();
  if (!source.apiGroup && source.kind !== "PersistentVolumeClaim") {
    const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    errors.invalid(source.kind ?? "", detail);
  }
  if (source.apiGroup && !anyGroup) errors.at("apiGroup").check(dnsSubdomain, source.apiGroup);
  if (source.namespace) errors.at("namespace").check(dnsLabel, source.namespace);
}

/** Upstream prints the whole number here, not the text of the quantity. */
export function checkBasicQuantity(errors: FieldErrors, size: string): void {
  const number = Quantity.parse(size).value();
  if (number < 0) errors.invalid(number, "must be a valid resource quantity");
}

function checkSize(errors: FieldErrors, size: string | undefined): void {
  if (size === undefined) errors.required();
  else if (Quantity.parse(size).sign <= 0) errors.invalid(size, "must be greater than zero");
}

export function checkClaimSpec(
  errors: FieldErrors,
  given: PersistentVolumeClaimSpec | undefined,
  anyGroup = false,
): void {
  const spec = given ?? {};
  if ((spec.accessModes ?? []).length === 0)
    errors.at("accessModes").required("at least 1 access mode is required");
  checkLabelSelector(errors.at("selector"), spec.selector);
  checkAccessModes(errors.at("accessModes"), spec.accessModes);
  checkSize(errors.at("resources").key("storage"), spec.resources?.requests?.["storage"]);
  if (spec.storageClassName) errors.at("storageClassName").check(dnsSubdomain, spec.storageClassName);
  checkVolumeMode(errors.at("volumeMode"), spec.volumeMode);
  const { dataSource, dataSourceRef } = spec;
  checkSource(errors.at("dataSource"), dataSource, anyGroup);
  checkSource(errors.at("dataSourceRef"), dataSourceRef, anyGroup);
  if (dataSource && dataSourceRef) {
    // Upstream prints the path in place of the value, and a path has nothing that JSON shows.
    const shown = {};
    const same = (["apiGroup", "kind", "name"] as const).every(
      (name) => dataSource[name] === dataSourceRef[name],
    );
    if (dataSourceRef.namespace) {
      errors.invalid(shown, "may not be specified when dataSourceRef.namespace is specified");
    } else if (!same) {
      errors.invalid(shown, "must match dataSourceRef");
    }
  }
  if (spec.volumeAttributesClassName) {
    errors.at("volumeAttributesClassName").check(dnsSubdomain, spec.volumeAttributesClassName);
  }
}

const betaClass = "volume.beta.kubernetes.io/storage-class";
type Spec = PersistentVolumeClaimSpec;

function withField<K extends keyof Spec>(
  { provenance }: FieldErrors,
  spec: Spec,
  name: K,
  value: Spec[K] | undefined,
): Spec {
  const { [name]: _old, ...rest } = spec;
  return provenance.keepEmpty((value === undefined ? rest : { ...spec, [name]: value }) as Spec, spec);
}

/**
 * The new spec with what may change as it was before: a class that was not set, and the size of a bound
 * claim.
 */
function munged(errors: FieldErrors, claim: PersistentVolumeClaim, old: PersistentVolumeClaim): Spec {
  const { provenance } = errors;
  let spec: Spec = claim.spec ?? {};
  const before: Spec = old.spec ?? {};
  const annotation = old.metadata.annotations?.[betaClass];
  const named = before.storageClassName === undefined && spec.storageClassName !== undefined;
  if (named && (annotation === undefined || annotation === spec.storageClassName)) {
    spec = withField(errors, spec, "storageClassName", undefined);
  }
  if (claim.status?.phase !== "Bound") return spec;
  const size = before.resources?.requests?.["storage"];
  if (spec.resources?.requests && size !== undefined) {
    const requests = { ...spec.resources.requests, storage: size };
    const resources = provenance.keepEmpty({ ...spec.resources, requests }, spec.resources);
    spec = provenance.keepEmpty({ ...spec, resources }, spec);
  }
  return withField(errors, spec, "volumeAttributesClassName", before.volumeAttributesClassName);
}

function checkUpdate(errors: FieldErrors, claim: PersistentVolumeClaim, old: PersistentVolumeClaim): void {
  const [now, was] = [claim.metadata.annotations?.[betaClass], old.metadata.annotations?.[betaClass]];
  const moved =
    was !== undefined &&
    old.spec?.storageClassName === undefined &&
    claim.spec?.storageClassName === was &&
    (now === undefined || now === was);
  if (!moved) checkImmutable(errors.at("metadata.annotations").key(betaClass), now ?? "", was ?? "");
  const after = munged(errors, claim, old);
  const before = old.spec?.volumeName
    ? old.spec
    : withField(errors, old.spec ?? {}, "volumeName", after.volumeName);
  const form = (spec: Spec): unknown => internalForm("core/v1.PersistentVolumeClaimSpec", spec, errors);
  if (!sameValue(after, before)) {
    const printed = (spec: Spec): string => goJson(form(spec), 1);
    errors
      .at("spec")
      .forbidden(
        `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${unifiedDiff(printed(before), printed(after))}`,
      );
  }
  const size = (value: string | undefined): Quantity => Quantity.parse(value ?? "0");
  const asked = size(claim.spec?.resources?.requests?.["storage"]);
  if (
    asked.compare(size(old.spec?.resources?.requests?.["storage"])) < 0 &&
    asked.compare(size(old.status?.capacity?.["storage"])) <= 0
  ) {
    errors.at("spec.resources.requests.storage").forbidden("field can not be less than status.capacity");
  }
  checkImmutable(errors.at("volumeMode"), claim.spec?.volumeMode, old.spec?.volumeMode);
  const current = old.status?.currentVolumeAttributesClassName;
  if (current === undefined || current === null) return;
  const name = claim.spec?.volumeAttributesClassName;
  if (name === old.spec?.volumeAttributesClassName || name) return;
  const what = name === undefined || name === null ? "nil" : "empty string";
  errors
    .at("spec.volumeAttributesClassName")
    .forbidden(`update to ${what} is forbidden when status.currentVolumeAttributesClassName is not nil`);
}

/** States of a resize that failed or goes on (KEP-1790). */
const resizeStates = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
].sort();

/** Of Kubernetes' own resources, claims have but `storage`. */
function checkResourceKey(errors: FieldErrors, name: string): boolean {
  const before = errors.list.length;
  errors.check(qualifiedName, name);
  const known = errors.list.length > before || name === "storage";
  if (!known && (!name.includes("/") || name.includes("kubernetes.io/")))
    errors.notSupported(name, ["storage"]);
  return errors.list.length === before;
}

export const persistentVolumeClaimValidation = {
  create(errors: FieldErrors, claim: PersistentVolumeClaim): void {
    checkObject(errors, claim);
    checkClaimSpec(errors.at("spec"), claim.spec);
  },
  update(errors: FieldErrors, claim: PersistentVolumeClaim, old: PersistentVolumeClaim): void {
    checkObjectUpdate(errors, claim, old);
    checkObject(errors, claim);
    // A claim that had a source of some group may be given one of any, wrong ones too.
    const { dataSource, dataSourceRef } = old.spec ?? {};
    const anyGroup = dataSource?.apiGroup !== undefined || dataSourceRef?.apiGroup !== undefined;
    checkClaimSpec(errors.at("spec"), claim.spec, anyGroup);
    checkUpdate(errors, claim, old);
  },
  status(errors: FieldErrors, claim: PersistentVolumeClaim, old: PersistentVolumeClaim): void {
    checkObjectUpdate(errors, claim, old);
    if ((claim.spec?.accessModes ?? []).length === 0) errors.at("Spec.accessModes").required();
    const { capacity, allocatedResourceStatuses, allocatedResources } = claim.status ?? {};
    for (const [name, size] of Object.entries(capacity ?? {}))
      checkBasicQuantity(errors.at("status.capacity").key(name), size);
    for (const [name, state] of Object.entries(allocatedResourceStatuses ?? {})) {
      const here = errors.at("status.allocatedResourceStatuses");
      checkResourceKey(here, name);
      // Upstream prints the name in place of the status.
      if (!resizeStates.includes(state)) here.notSupported(name, resizeStates);
    }
    for (const [name, size] of Object.entries(allocatedResources ?? {})) {
      const here = errors.at("status.allocatedResources");
      if (checkResourceKey(here, name)) checkBasicQuantity(here.key(name), size);
    }
  },
};
