/** ResourceClaim and ResourceClaimTemplate (KEP-4381, KEP-4816). */

import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type {
  DeviceClaim,
  DeviceConfiguration,
  DeviceConstraint,
  DeviceDerivedAttribute,
  DeviceRequest,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
} from "../../../generated/resource/v1.ts";
import { dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { checkDriverName, checkFullyQualifiedName, checkRawData, limits } from "../names.ts";
import { checkExpression, checkSelectors } from "../selectors.ts";
import { checkToleration } from "../taints.ts";

/** The one label that lets a namespace ask for admin access. */
const adminLabel = "resource.kubernetes.io/admin-access";

export const adminAccessDetail =
  "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace";

export function mayUseAdminAccess({ namespaceLabels }: ValidationContext): boolean {
  return namespaceLabels?.[adminLabel] === "true";
}

/** The references that name a request of the claim: `request`, and `request/alternative`. */
export function requestReferences(claim: DeviceClaim | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  // Of several requests with one name the last counts.
  const requests = new Map((claim?.requests ?? []).map((request) => [request.name ?? "", request]));
  for (const [name, request] of requests) {
    names.add(name);
    for (const alternative of request.firstAvailable ?? []) names.add(`${name}/${alternative.name ?? ""}`);
  }
  return names;
}

export function checkReference(
  errors: FieldErrors,
  path: string,
  name: string,
  known: ReadonlySet<string>,
): void {
  const detail =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const parts = name.split("/");
  if (parts.length > 2) {
    errors.invalid(path, name, detail);
    return;
  }
  for (const part of parts) errors.check(dnsLabel, path, part);
  if (!known.has(name)) errors.invalid(path, name, detail);
}

export function checkReferences(
  errors: FieldErrors,
  path: string,
  names: readonly string[] | undefined,
  known: ReadonlySet<string>,
): void {
  const check = (name: string, at: string): void => checkReference(errors, at, name, known);
  errors.set(path, names, limits.requests, check, (name) => name);
}

function checkAllocationMode(
  errors: FieldErrors,
  path: string,
  request: ExactDeviceRequest | DeviceSubRequest,
): void {
  const { allocationMode: mode = "", count = 0 } = request;
  if (mode === "All") {
    if (count > 0 || count < 0) {
      errors.invalid(`${path}.count`, count, "must not be specified when allocationMode is 'All'");
    }
  } else if (mode === "ExactCount") {
    if (count <= 0) errors.invalid(`${path}.count`, count, "must be greater than zero");
  } else errors.notSupported(`${path}.allocationMode`, mode, ["All", "ExactCount"]);
}

/** The claim whose derived attributes are checked, and their total cost. */
interface DerivedAttributes {
  readonly claim: DeviceClaim;
  /** The estimated cost of all expressions together. */
  cost: bigint;
}

/**
 * Attributes that the claim computes (KEP-5491): only a constraint that covers the request can use one.
 * Upstream: validateDeviceDerivedAttribute
 */
function checkDerivedAttributes(
  errors: FieldErrors,
  path: string,
  attributes: readonly DeviceDerivedAttribute[] | undefined,
  references: readonly string[],
  derived: DerivedAttributes,
  context: ValidationContext,
): void {
  if (attributes === undefined || attributes.length === 0) return;
  const usable = constrainedAttributes(derived.claim, references);
  const check = ({ name = "", expression = "" }: DeviceDerivedAttribute, at: string): void => {
    if (name === "") errors.required(`${at}.name`);
    else {
      checkFullyQualifiedName(errors, `${at}.name`, name);
      if (!usable.has(name)) errors.invalid(`${at}.name`, name, unusedAttribute);
    }
    if (expression === "") errors.required(`${at}.expression`);
    else derived.cost += checkExpression(errors, `${at}.expression`, expression, context, true);
  };
  errors.set(path, attributes, limits.derivedAttributes, check, ({ name = "" }) => name);
}

const unusedAttribute =
  "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request";

/** The attributes of the constraints that cover a request, by one of its references. */
function constrainedAttributes({ constraints }: DeviceClaim, references: readonly string[]): Set<string> {
  const names = new Set<string>();
  for (const { requests = [], matchAttribute, distinctAttribute } of constraints ?? []) {
    if (requests.length > 0 && !references.some((reference) => requests.includes(reference))) continue;
    const name = matchAttribute ?? distinctAttribute;
    if (name !== undefined) names.add(name);
  }
  return names;
}

function checkExact(
  errors: FieldErrors,
  path: string,
  request: ExactDeviceRequest | DeviceSubRequest,
  references: readonly string[],
  derived: DerivedAttributes,
  context: ValidationContext,
): void {
  errors.checkRequired(dnsSubdomain, `${path}.deviceClassName`, request.deviceClassName);
  checkSelectors(errors, `${path}.selectors`, request.selectors, context);
  checkAllocationMode(errors, path, request);
  (request.tolerations ?? []).forEach((toleration, index) => {
    checkToleration(errors, `${path}.tolerations[${index}]`, toleration);
  });
  const attributes = request.derivedAttributes;
  checkDerivedAttributes(errors, `${path}.derivedAttributes`, attributes, references, derived, context);
}

function checkRequest(
  errors: FieldErrors,
  path: string,
  request: DeviceRequest,
  derived: DerivedAttributes,
  context: ValidationContext,
): void {
  errors.check(dnsLabel, `${path}.name`, request.name ?? "");
  const alternatives = request.firstAvailable ?? [];
  const wanted = "exactly one of `exactly` or `firstAvailable` is required";
  if (request.exactly && alternatives.length > 0) {
    errors.invalid(path, null, `${wanted}, but multiple fields are set`);
  } else if (alternatives.length > 0) {
    const check = (alternative: DeviceSubRequest, at: string): void => {
      errors.check(dnsLabel, `${at}.name`, alternative.name ?? "");
      const references = [request.name ?? "", `${request.name}/${alternative.name}`];
      checkExact(errors, at, alternative, references, derived, context);
    };
    const name = (alternative: DeviceSubRequest): string => alternative.name ?? "";
    errors.set(`${path}.firstAvailable`, alternatives, limits.alternatives, check, name);
  } else if (request.exactly) {
    checkExact(errors, `${path}.exactly`, request.exactly, [request.name ?? ""], derived, context);
  } else errors.required(path, wanted);
}

function checkConstraint(
  errors: FieldErrors,
  path: string,
  constraint: DeviceConstraint,
  known: ReadonlySet<string>,
  context: ValidationContext,
): void {
  checkReferences(errors, `${path}.requests`, constraint.requests, known);
  const { matchAttribute, distinctAttribute } = constraint;
  if (matchAttribute !== undefined) checkFullyQualifiedName(errors, `${path}.matchAttribute`, matchAttribute);
  else if (distinctAttribute !== undefined) {
    checkFullyQualifiedName(errors, `${path}.distinctAttribute`, distinctAttribute);
  } else if (context.features.enabled("DRAConsumableCapacity")) {
    // The wording is upstream's, although no field is set.
    const detail =
      'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
    errors.required(path, detail);
  } else errors.required(`${path}.matchAttribute`);
}

/** Parameters of a driver, in a claim, a class or an allocation. */
export function checkConfiguration(
  errors: FieldErrors,
  path: string,
  { opaque }: DeviceConfiguration,
  stored = false,
): void {
  if (!opaque) {
    errors.required(`${path}.opaque`);
    return;
  }
  checkDriverName(errors, `${path}.opaque.driver`, opaque.driver);
  checkRawData(errors, `${path}.opaque.parameters`, opaque.parameters, stored);
}

export function checkSpec(
  errors: FieldErrors,
  path: string,
  spec: ResourceClaimSpec | undefined,
  context: ValidationContext,
): void {
  const devices = spec?.devices;
  const known = requestReferences(devices);
  const at = `${path}.devices`;
  const derived: DerivedAttributes = { claim: devices ?? {}, cost: 0n };
  errors.set(
    `${at}.requests`,
    devices?.requests,
    limits.requests,
    (request, place) => checkRequest(errors, place, request, derived, context),
    (request) => request.name ?? "",
  );
  errors.items(`${at}.constraints`, devices?.constraints, limits.constraints, (constraint, place) =>
    checkConstraint(errors, place, constraint, known, context),
  );
  errors.items(`${at}.config`, devices?.config, limits.config, (config, place) => {
    checkReferences(errors, `${place}.requests`, config.requests, known);
    checkConfiguration(errors, place, config);
  });
  if (derived.cost > limits.expressionCost) errors.forbidden(at, costlyAttributes);
}

const costlyAttributes =
  "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit";

/**
 * Admin access is for namespaces that an administrator has labelled; only the first such request is named.
 */
export function checkAdminAccess(
  errors: FieldErrors,
  spec: ResourceClaimSpec | undefined,
  context: ValidationContext,
): void {
  const requests = spec?.devices?.requests ?? [];
  const index = requests.findIndex((request) => request.exactly?.adminAccess === true);
  if (index < 0 || mayUseAdminAccess(context)) return;
  errors.forbidden(`spec.devices.requests[${index}].adminAccess`, adminAccessDetail);
}

export function checkClaim(errors: FieldErrors, claim: ResourceClaim, context: ValidationContext): void {
  checkAdminAccess(errors, claim.spec, context);
  checkMetadata(errors, "metadata", claim.metadata, dnsSubdomain, true);
  checkFinalizerNames(errors, "metadata", claim.metadata);
  checkSpec(errors, "spec", claim.spec, context);
}

export function checkClaimUpdate(
  errors: FieldErrors,
  claim: ResourceClaim,
  old: ResourceClaim,
  context: ValidationContext,
): void {
  checkMetadata(errors, "metadata", claim.metadata, dnsSubdomain, true);
  checkFinalizerNames(errors, "metadata", claim.metadata);
  checkMetadataUpdate(errors, "metadata", claim.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", claim.metadata);
  const printed = (): unknown =>
    internalForm("resource/v1.ResourceClaimSpec", claim.spec ?? {}, context.features.version);
  checkImmutable(errors, "spec", claim.spec, old.spec, printed);
}
