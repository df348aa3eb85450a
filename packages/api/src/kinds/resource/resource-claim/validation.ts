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
  // The last of several requests with one name counts.
  const requests = new Map((claim?.requests ?? []).map((request) => [request.name ?? "", request]));
  for (const [name, request] of requests) {
    names.add(name);
    for (const alternative of request.firstAvailable ?? []) names.add(`${name}/${alternative.name ?? ""}`);
  }
  return names;
}

export function checkReference(errors: FieldErrors, name: string, known: ReadonlySet<string>): void {
  const detail =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const parts = name.split("/");
  if (parts.length > 2) {
    errors.invalid(name, detail);
    return;
  }
  for (const part of parts) errors.check(dnsLabel, part);
  if (!known.has(name)) errors.invalid(name, detail);
}

export function checkReferences(
  errors: FieldErrors,
  names: readonly string[] | undefined,
  known: ReadonlySet<string>,
): void {
  const check = (here: FieldErrors, name: string): void => checkReference(here, name, known);
  errors.set(names, limits.requests, check, (name) => name);
}

function checkAllocationMode(errors: FieldErrors, request: ExactDeviceRequest | DeviceSubRequest): void {
  const { allocationMode: mode = "", count = 0 } = request;
  if (mode === "All") {
    if (count > 0 || count < 0) {
      errors.at("count").invalid(count, "must not be specified when allocationMode is 'All'");
    }
  } else if (mode === "ExactCount") {
    if (count <= 0) errors.at("count").invalid(count, "must be greater than zero");
  } else errors.at("allocationMode").notSupported(mode, ["All", "ExactCount"]);
}

/** The claim whose requests are checked. */
interface ClaimCheck {
  readonly claim: DeviceClaim;
  readonly context: ValidationContext;
  /** The estimated cost of the expressions of all derived attributes together. */
  derivedCost: bigint;
}

/**
 * Attributes that the claim computes (KEP-5491): only a constraint that covers the request can use one.
 * Upstream: validateDeviceDerivedAttribute
 */
function checkDerivedAttributes(
  errors: FieldErrors,
  attributes: readonly DeviceDerivedAttribute[] | undefined,
  references: readonly string[],
  check: ClaimCheck,
): void {
  if (attributes === undefined || attributes.length === 0) return;
  const usable = constrainedAttributes(check.claim, references);
  const checkAttribute = (
    here: FieldErrors,
    { name = "", expression = "" }: DeviceDerivedAttribute,
  ): void => {
    if (name === "") here.at("name").required();
    else {
      checkFullyQualifiedName(here.at("name"), name);
      if (!usable.has(name)) here.at("name").invalid(name, unusedAttribute);
    }
    if (expression === "") here.at("expression").required();
    else check.derivedCost += checkExpression(here.at("expression"), expression, check.context, true);
  };
  errors.set(attributes, limits.derivedAttributes, checkAttribute, ({ name = "" }) => name);
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
  request: ExactDeviceRequest | DeviceSubRequest,
  references: readonly string[],
  check: ClaimCheck,
): void {
  errors.at("deviceClassName").checkRequired(dnsSubdomain, request.deviceClassName);
  checkSelectors(errors.at("selectors"), request.selectors, check.context);
  checkAllocationMode(errors, request);
  (request.tolerations ?? []).forEach((toleration, index) => {
    checkToleration(errors.at("tolerations").index(index), toleration);
  });
  const attributes = request.derivedAttributes;
  checkDerivedAttributes(errors.at("derivedAttributes"), attributes, references, check);
}

function checkRequest(errors: FieldErrors, request: DeviceRequest, check: ClaimCheck): void {
  errors.at("name").check(dnsLabel, request.name ?? "");
  const alternatives = request.firstAvailable ?? [];
  const wanted = "exactly one of `exactly` or `firstAvailable` is required";
  if (request.exactly && alternatives.length > 0) {
    errors.invalid(null, `${wanted}, but multiple fields are set`);
  } else if (alternatives.length > 0) {
    const checkAlternative = (here: FieldErrors, alternative: DeviceSubRequest): void => {
      here.at("name").check(dnsLabel, alternative.name ?? "");
      const references = [request.name ?? "", `${request.name}/${alternative.name}`];
      checkExact(here, alternative, references, check);
    };
    const name = (alternative: DeviceSubRequest): string => alternative.name ?? "";
    errors.at("firstAvailable").set(alternatives, limits.alternatives, checkAlternative, name);
  } else if (request.exactly) {
    checkExact(errors.at("exactly"), request.exactly, [request.name ?? ""], check);
  } else errors.required(wanted);
}

function checkConstraint(
  errors: FieldErrors,
  constraint: DeviceConstraint,
  known: ReadonlySet<string>,
  context: ValidationContext,
): void {
  checkReferences(errors.at("requests"), constraint.requests, known);
  const { matchAttribute, distinctAttribute } = constraint;
  if (matchAttribute !== undefined) checkFullyQualifiedName(errors.at("matchAttribute"), matchAttribute);
  else if (distinctAttribute !== undefined) {
    checkFullyQualifiedName(errors.at("distinctAttribute"), distinctAttribute);
  } else if (context.features.enabled("DRAConsumableCapacity")) {
    // The wording is upstream's, although no field is set.
    const detail =
      'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
    errors.required(detail);
  } else errors.at("matchAttribute").required();
}

/** Parameters of a driver, in a claim, a class or an allocation. */
export function checkConfiguration(
  errors: FieldErrors,
  { opaque }: DeviceConfiguration,
  stored = false,
): void {
  if (!opaque) {
    errors.at("opaque").required();
    return;
  }
  checkDriverName(errors.at("opaque.driver"), opaque.driver);
  checkRawData(errors.at("opaque.parameters"), opaque.parameters, stored);
}

export function checkSpec(
  errors: FieldErrors,
  spec: ResourceClaimSpec | undefined,
  context: ValidationContext,
): void {
  const devices = spec?.devices;
  const known = requestReferences(devices);
  const here = errors.at("devices");
  const check: ClaimCheck = { claim: devices ?? {}, context, derivedCost: 0n };
  here.at("requests").set(
    devices?.requests,
    limits.requests,
    (here, request) => checkRequest(here, request, check),
    (request) => request.name ?? "",
  );
  here
    .at("constraints")
    .items(devices?.constraints, limits.constraints, (here, constraint) =>
      checkConstraint(here, constraint, known, context),
    );
  here.at("config").items(devices?.config, limits.config, (here, config) => {
    checkReferences(here.at("requests"), config.requests, known);
    checkConfiguration(here, config);
  });
  if (check.derivedCost > limits.expressionCost) here.forbidden(costlyAttributes);
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
  errors.at("spec.devices.requests").index(index).at("adminAccess").forbidden(adminAccessDetail);
}

export function checkClaim(errors: FieldErrors, claim: ResourceClaim, context: ValidationContext): void {
  checkAdminAccess(errors, claim.spec, context);
  checkMetadata(errors.at("metadata"), claim.metadata, dnsSubdomain, true);
  checkFinalizerNames(errors.at("metadata"), claim.metadata);
  checkSpec(errors.at("spec"), claim.spec, context);
}

export function checkClaimUpdate(errors: FieldErrors, claim: ResourceClaim, old: ResourceClaim): void {
  checkMetadata(errors.at("metadata"), claim.metadata, dnsSubdomain, true);
  checkFinalizerNames(errors.at("metadata"), claim.metadata);
  checkMetadataUpdate(errors.at("metadata"), claim.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), claim.metadata);
  const printed = (): unknown => internalForm("resource/v1.ResourceClaimSpec", claim.spec ?? {}, errors);
  checkImmutable(errors.at("spec"), claim.spec, old.spec, printed);
}
