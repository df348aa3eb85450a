/** Requests, limits and claims of containers. */

import type { FieldErrors } from "../../../checks/field.ts";
import type { PodSpec, ResourceClaim, ResourceRequirements } from "../../../generated/core/v1.ts";
import { containerTotal } from "../../../pod/resources.ts";
import { dnsLabel, qualifiedName } from "../../../values/names.ts";
import { Quantity, QuantityError } from "../../../values/quantity.ts";

const standard = ["cpu", "memory", "ephemeral-storage"];
const isStandard = (name: string): boolean => standard.includes(name) || name.startsWith("hugepages-");
/** Resources of Kubernetes itself have no domain, or its own. */
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");
const isExtended = (name: string): boolean => !isNative(name) && !name.startsWith("requests.");
/** True for resources that cannot be overcommitted: extended resources and huge pages. */
const isExact = (name: string): boolean =>
  isExtended(name) || name.startsWith("hugepages-") || name.startsWith("deviceclass.resource.kubernetes.io/");

type NameCheck = (errors: FieldErrors, name: string) => void;

/** False if the name is invalid for any resource. */
function checkAnyName(errors: FieldErrors, name: string): boolean {
  const before = errors.list.length;
  errors.check(qualifiedName, name);
  if (errors.list.length > before) return false;
  if (name.includes("/") || isStandard(name) || quotaNames.includes(name)) return true;
  errors.invalid(name, "must be a standard resource type or fully qualified");
  return false;
}

/** Resources that only a quota has. */
const quotaNames = [
  "pods",
  "services",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "storage",
  "requests.cpu",
  "requests.memory",
  "requests.storage",
  "requests.ephemeral-storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
  "services.nodeports",
  "services.loadbalancers",
];

const checkContainerName: NameCheck = (errors, name) => {
  checkAnyName(errors, name);
  if (!name.includes("/")) {
    if (!isStandard(name)) errors.invalid(name, "must be a standard resource for containers");
  } else if (!isNative(name) && !isExtended(name)) {
    errors.invalid(name, "doesn't follow extended resource name standard");
  }
};

const checkPodName: NameCheck = (errors, name) => {
  if (!checkAnyName(errors, name)) return;
  if (["cpu", "memory"].includes(name) || name.startsWith("hugepages-")) return;
  errors.notSupported(name, ["cpu", "hugepages-", "memory"]);
};

/** Resources whose amounts are integers (IsIntegerResourceName). */
export const counted: ReadonlySet<string> = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);

/** The quantity of a resource: not below 0, and whole where it is counted (ValidateResourceQuantityValue). */
export function checkQuantity(errors: FieldErrors, name: string, quantity: Quantity): void {
  const text = quantity.toString();
  if (quantity.sign < 0) errors.invalid(text, "must be greater than or equal to 0");
  if ((isExact(name) || counted.has(name)) && !quantity.isInteger())
    errors.invalid(text, "must be an integer");
}

export function claimNames({ resourceClaims }: PodSpec): ReadonlySet<string> {
  return new Set((resourceClaims ?? []).map(({ name }) => name));
}

/** Longer than any name of a claim: longer prefixes need not be counted. */
const maxClaimLength = 256;

/** Checks that a claim is used as a whole or request by request, and no part of it twice. */
function checkClaims(
  errors: FieldErrors,
  claims: readonly ResourceClaim[],
  known: ReadonlySet<string>,
): void {
  const seen = new Set<string>();
  /** Number of seen keys by each prefix that ends before a slash. */
  const below = new Map<string, number>();
  for (const [index, { name, request }] of claims.entries()) {
    if (errors.full) return;
    const here = errors.index(index);
    if (!name) {
      here.required();
      continue;
    }
    if (seen.has(name)) here.duplicate(name);
    else {
      if (request) here.at("request").check(dnsLabel, request);
      const key = request ? `${name}/${request}` : name;
      if (seen.has(key)) here.duplicate(key);
      else if (!request) {
        for (let count = below.get(name) ?? 0; count > 0 && !errors.full; count--) here.duplicate(name);
      }
      if (!seen.has(key)) {
        for (let end = key.indexOf("/"); end >= 0 && end < maxClaimLength; end = key.indexOf("/", end + 1))
          below.set(key.slice(0, end), (below.get(key.slice(0, end)) ?? 0) + 1);
      }
      seen.add(key);
    }
    if (known.has(name)) continue;
    const list = known.size === 0 ? " which is empty" : `: ${[...known].sort().join(", ")}`;
    here.notFound(name, `must be one of the names in pod.spec.resourceClaims${list}`);
  }
}

/** Checks that an amount of huge pages is a whole number of pages. */
function checkHugePages(errors: FieldErrors, name: string, quantity: Quantity): void {
  if (!name.startsWith(hugePages)) return;
  const size = quantityOrNone(name.slice(hugePages.length));
  const whole = size !== undefined && size.sign > 0 && size.isInteger();
  if (whole && quantity.value() % size.value() === 0n) return;
  errors.invalid(quantity.toString(), `${quantity} is not positive integer multiple of ${name}`);
}

const hugePages = "hugepages-";

function quantityOrNone(text: string): Quantity | undefined {
  try {
    return Quantity.parse(text);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

export function checkResources(
  errors: FieldErrors,
  resources: ResourceRequirements | undefined,
  podClaims: ReadonlySet<string> = new Set(),
  checkName: NameCheck = checkContainerName,
): void {
  const limits = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(resources?.limits ?? {})) {
    const here = errors.at("limits").key(name);
    checkName(here, name);
    const limit = Quantity.parse(text);
    checkQuantity(here, name, limit);
    checkHugePages(here, name, limit);
    limits.set(name, limit);
  }
  for (const [name, text] of Object.entries(resources?.requests ?? {})) {
    const here = errors.at("requests").key(name);
    checkName(here, name);
    const request = Quantity.parse(text);
    checkQuantity(here, name, request);
    const limit = limits.get(name);
    if (limit === undefined) {
      if (isExact(name)) errors.at("limits").required("Limit must be set for non overcommitable resources");
    } else if (isExact(name) && !request.equals(limit)) {
      errors.at("requests").invalid(request.toString(), `must be equal to ${name} limit of ${limit}`);
    } else if (request.compare(limit) > 0) {
      const detail = `must be less than or equal to ${name} limit of ${limit}`;
      errors.at("requests").invalid(request.toString(), detail);
    }
    checkHugePages(here, name, request);
  }
  const names = [...limits.keys(), ...Object.keys(resources?.requests ?? {})];
  if (names.some((name) => name.startsWith(hugePages)) && !names.includes("cpu") && !names.includes("memory"))
    errors.forbidden("HugePages require cpu or memory");
  checkClaims(errors.at("claims"), resources?.claims ?? [], podClaims);
}

type Quantities = Readonly<Record<string, string>>;

/** A pod's own quantities are no less than what its containers have together, or while it starts. */
function checkAggregate(
  errors: FieldErrors,
  whole: Quantities | undefined,
  spec: PodSpec,
  kind: "requests" | "limits",
): void {
  const needed = containerTotal({ spec }, kind);
  for (const [name, text] of Object.entries(whole ?? {})) {
    const least = needed.get(name);
    if (least === undefined || least.compare(Quantity.parse(text)) <= 0) continue;
    const detail = `must be greater than or equal to aggregate container ${kind} of ${least}`;
    errors.key(name).invalid(text, detail);
  }
}

/** Resources of a pod as a whole (KEP-2837): no less than its containers ask for together. */
export function checkPodResources(errors: FieldErrors, spec: PodSpec): void {
  const { resources } = spec;
  if (!resources) return;
  if (spec.os?.name === "windows") {
    errors.forbidden("may not be set for a windows pod");
    return;
  }
  if (resources.claims || errors.provenance.cameEmpty(resources, "claims")) {
    errors.at("claims").forbidden("claims may not be set for Resources at pod-level");
  }
  checkResources(errors, resources, claimNames(spec), checkPodName);
  checkAggregate(errors.at("requests"), resources.requests, spec, "requests");
  const pages = Object.entries(resources.limits ?? {}).filter(([name]) => name.startsWith(hugePages));
  checkAggregate(errors.at("limits"), Object.fromEntries(pages), spec, "limits");
  (spec.containers ?? []).forEach((container, index) => {
    for (const [name, text] of Object.entries(container.resources?.limits ?? {})) {
      const whole = ownQuantity(resources.limits, name);
      if (whole === undefined || Quantity.parse(text).compare(Quantity.parse(whole)) <= 0) continue;
      const detail = `must be less than or equal to pod limits of ${whole}`;
      errors.at("containers").index(index).key(name).at("limits").invalid(text, detail);
    }
  });
}

/** The quantity of that name; not what every object of JavaScript has, such as `constructor`. */
function ownQuantity(list: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return list !== undefined && Object.hasOwn(list, name) ? list[name] : undefined;
}
