/**
 * Validation as in the API server: the rules of each kind (`kinds/`), beyond the shape of its fields, with
 * upstream's paths and texts. Objects of resource.k8s.io are validated in the form of v1, whatever version
 * they were written in.
 */

import type { ValidationContext } from "../checks/context.ts";
import { FieldErrors } from "../checks/field.ts";
import {
  checkCommonUpdate,
  checkFinalizerNames,
  checkMetadata,
  checkMetadataUpdate,
} from "../checks/metadata.ts";
import type { FieldError } from "../errors/field-error.ts";
import { type GroupKind, kindDefinition } from "../kinds/registry.ts";
import type { KubeObject } from "../objects/object.ts";
import { kindRows } from "../schema/table.ts";
import { dnsSubdomain, type NameRule, pathSegment } from "../values/names.ts";

export { checkConditions } from "../checks/conditions.ts";
export type { AdmissionExpressions, CompiledSelector, ValidationContext } from "../checks/context.ts";
export type { DisabledField, DropContext } from "../checks/disabled.ts";
export { disabledFields, dropDisabledFields } from "../checks/disabled.ts";
export { checkImmutable, FieldErrors, sameValue } from "../checks/field.ts";
export {
  checkAnnotations,
  checkCommonUpdate,
  checkLabels,
  checkMetadata,
  checkMetadataUpdate,
} from "../checks/metadata.ts";
export { checkNodeSelector, checkNodeSelectorTerm } from "../checks/nodeselector.ts";
export { atOnce, type Step } from "../checks/step.ts";
export {
  checkService as checkWebhookService,
  checkUrl as checkWebhookUrl,
} from "../kinds/admissionregistration/webhook-client.ts";
export { serviceAddressErrors } from "../kinds/core/service/validation.ts";
export { mandatoryFlowControl } from "../kinds/flowcontrol/mandatory.ts";
export type { GroupKind } from "../kinds/registry.ts";
export { stampChangedTaint } from "../kinds/resource/device-taint-rule/validation.ts";
export { dropDeallocatedDevices } from "../kinds/resource/resource-claim/status.ts";
export { isExtendedResourceName } from "../values/names.ts";

const keyOf = ({ group, kind }: GroupKind): string => `${group}/${kind}`;

let namespacedKinds: ReadonlyMap<string, boolean> | undefined;
/**
 * True if objects of the kind are namespaced; for a kind outside the schema, true if this object has a
 * namespace.
 */
function isNamespaced(kind: GroupKind, object: KubeObject): boolean {
  namespacedKinds ??= new Map(kindRows.map((row) => [keyOf(row), row.namespaced]));
  return namespacedKinds.get(keyOf(kind)) ?? Boolean(object.metadata.namespace);
}

/** Kinds without rules of their own are held to those of metadata, with names that are DNS subdomains. */
function checkAny(
  errors: FieldErrors,
  kind: GroupKind,
  object: KubeObject,
  name: NameRule = dnsSubdomain,
): void {
  checkMetadata(errors.at("metadata"), object.metadata, name, isNamespaced(kind, object));
  checkFinalizerNames(errors.at("metadata"), object.metadata);
}

function errorsOf({ features, provenance }: ValidationContext): FieldErrors {
  return new FieldErrors({ release: features.version, provenance });
}

/** Errors of a new object; an empty list means that it is valid. Defaults must have been set. */
export function validateCreate(
  kind: GroupKind,
  object: KubeObject,
  context: ValidationContext,
): readonly FieldError[] {
  const errors = errorsOf(context);
  const own = kindDefinition(kind)?.validation;
  if (own) own.create(errors, object, context);
  else checkAny(errors, kind, object);
  // Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, BeforeCreate
  const stored = own === undefined || own.update !== undefined;
  if (stored && errors.list.length === 0)
    checkMetadata(errors.at("metadata"), object.metadata, pathSegment, isNamespaced(kind, object));
  return errors.reported;
}

/** Errors of an object that is to replace the stored one. */
export function validateUpdate(
  kind: GroupKind,
  object: KubeObject,
  old: KubeObject,
  context: ValidationContext,
): readonly FieldError[] {
  const errors = errorsOf(context);
  checkCommonUpdate(errors, object.metadata, old.metadata, isNamespaced(kind, object));
  const own = kindDefinition(kind)?.validation;
  if (own?.update) own.update(errors, object, old, context);
  else {
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkFinalizerNames(errors.at("metadata"), object.metadata);
  }
  return errors.reported;
}

/** Returns the rules of objects that a subresource writes; undefined if it has none of its own. */
export function viewValidation(kind: GroupKind, subresource: string): ValidateView | undefined {
  const views = kindDefinition(kind)?.validation?.subresources ?? {};
  const check = Object.hasOwn(views, subresource) ? views[subresource] : undefined;
  if (check === undefined) return undefined;
  return (object, old, context) => {
    const errors = errorsOf(context);
    check(errors, object, old, context);
    return errors.reported;
  };
}

type ValidateView = (
  object: KubeObject,
  old: KubeObject,
  context: ValidationContext,
) => readonly FieldError[];

/** Errors of a new status; all other fields of the object are those of the stored one already. */
export function validateStatusUpdate(
  kind: GroupKind,
  object: KubeObject,
  old: KubeObject,
  context: ValidationContext,
): readonly FieldError[] {
  const errors = errorsOf(context);
  checkCommonUpdate(errors, object.metadata, old.metadata, isNamespaced(kind, object));
  const own = kindDefinition(kind)?.validation;
  if (own?.status) own.status(errors, object, old, context);
  else {
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkFinalizerNames(errors.at("metadata"), object.metadata);
  }
  return errors.reported;
}

/** Warnings about a valid object, a new one without `old`. Of subresources, only `status` has warnings. */
export function warningsFor(
  kind: GroupKind,
  object: KubeObject,
  old: KubeObject | undefined,
  subresource: string,
): string[] {
  const { warnings, statusWarnings } = kindDefinition(kind) ?? {};
  if (subresource === "status") return statusWarnings?.(object) ?? [];
  return subresource === "" ? (warnings?.(object, old) ?? []) : [];
}
