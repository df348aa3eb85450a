/** Requests, limits and claims of containers. */
import type { PodResourceClaim, ResourceClaim, ResourceRequirements } from "../../generated/core/v1.ts";
import { dnsLabel, qualifiedName } from "../../names.ts";
import { Quantity } from "../../quantity.ts";
import type { FieldErrors } from "../field.ts";

const standard = ["cpu", "memory", "ephemeral-storage"];

const isStandard = (name: string): boolean => standard.includes(name) || name.startsWith("hugepages-");
/** Resources of Kubernetes itself have no domain, or its own. */
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");
const isExtended = (name: string): boolean => !isNative(name) && !name.startsWith("requests.");
/** What cannot be promised twice: extended resources and huge pages. */
const isExact = (name: string): boolean =>
  isExtended(name) || name.startsWith("hugepages-") || name.startsWith("deviceclass.resource.kubernetes.io/");

function checkName(errors: FieldErrors, path: string, name: string): void {
  errors.check(qualifiedName, path, name);
  if (!name.includes("/") && !isStandard(name)) {
    errors.invalid(path, name, "must be a standard resource type or fully qualified");
    errors.invalid(path, name, "must be a standard resource for containers");
  }
}

function checkQuantity(errors: FieldErrors, path: string, name: string, quantity: Quantity): void {
  const text = quantity.toString();
  if (quantity.sign < 0) errors.invalid(path, text, "must be greater than or equal to 0");
  if (isExact(name) && !quantity.isInteger()) errors.invalid(path, text, "must be an integer");
}

function checkClaim(
  errors: FieldErrors,
  path: string,
  claim: ResourceClaim,
  podClaims: readonly PodResourceClaim[],
): void {
  const known = podClaims.map(({ name }) => name);
  if (!claim.name) errors.required(path);
  else if (!known.includes(claim.name)) {
    const list = known.length === 0 ? " which is empty" : `: ${[...known].sort().join(", ")}`;
    errors.notFound(path, claim.name, `must be one of the names in pod.spec.resourceClaims${list}`);
  }
  if (claim.request) errors.check(dnsLabel, `${path}.request`, claim.request);
}

/** A claim is taken whole, or request by request, and nothing of it twice. */
function checkClaims(
  errors: FieldErrors,
  path: string,
  claims: readonly ResourceClaim[],
  podClaims: readonly PodResourceClaim[],
): void {
  const seen = new Set<string>();
  claims.forEach((claim, index) => {
    const at = `${path}[${index}]`;
    checkClaim(errors, at, claim, podClaims);
    if (!claim.name) return;
    const key = claim.request ? `${claim.name}/${claim.request}` : claim.name;
    if (seen.has(key)) errors.duplicate(at, key);
    else if (
      claim.request ? seen.has(claim.name) : [...seen].some((other) => other.startsWith(`${claim.name}/`))
    ) {
      errors.duplicate(at, claim.name);
    }
    seen.add(key);
  });
}

export function checkResources(
  errors: FieldErrors,
  path: string,
  resources: ResourceRequirements | undefined,
  podClaims: readonly PodResourceClaim[],
): void {
  const limits = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(resources?.limits ?? {})) {
    const at = `${path}.limits[${name}]`;
    checkName(errors, at, name);
    const limit = Quantity.parse(text);
    checkQuantity(errors, at, name, limit);
    limits.set(name, limit);
  }
  for (const [name, text] of Object.entries(resources?.requests ?? {})) {
    const at = `${path}.requests[${name}]`;
    checkName(errors, at, name);
    const request = Quantity.parse(text);
    checkQuantity(errors, at, name, request);
    const limit = limits.get(name);
    if (limit === undefined) {
      if (isExact(name))
        errors.required(`${path}.limits`, "Limit must be set for non overcommitable resources");
    } else if (isExact(name) && !request.equals(limit)) {
      errors.invalid(`${path}.requests`, request.toString(), `must be equal to ${name} limit of ${limit}`);
    } else if (request.compare(limit) > 0) {
      const detail = `must be less than or equal to ${name} limit of ${limit}`;
      errors.invalid(`${path}.requests`, request.toString(), detail);
    }
  }
  checkClaims(errors, `${path}.claims`, resources?.claims ?? [], podClaims);
}
