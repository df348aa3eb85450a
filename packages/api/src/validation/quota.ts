/** Quotas and limit ranges: which resource names they may restrict, and bounds that contradict each other. */
import type { LimitRange, LimitRangeItem, ResourceQuota, ResourceQuotaSpec } from "../generated/core/v1.ts";
import { dnsSubdomain, qualifiedName } from "../values/names.ts";
import { Quantity } from "../values/quantity.ts";
import { type FieldErrors, sameValue } from "./field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "./metadata.ts";
import { counted } from "./pod/resources.ts";

type List = Readonly<Record<string, string>>;

const computed = ["cpu", "memory", "ephemeral-storage"];
const ofQuotas = new Set([
  ...computed.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  ...counted,
  "requests.storage",
]);
const podAmounts = ["cpu", "memory"].flatMap((name) => [name, `limits.${name}`, `requests.${name}`]);
/** Which names of a quota make sense in a scope. */
const inScope: ReadonlyMap<string, readonly string[]> = new Map([
  ["Terminating", ["pods", ...podAmounts]],
  ["NotTerminating", ["pods", ...podAmounts]],
  ["NotBestEffort", ["pods", ...podAmounts]],
  ["PriorityClass", ["pods", ...podAmounts]],
  ["CrossNamespacePodAffinity", ["pods", ...podAmounts]],
  ["BestEffort", ["pods"]],
  ["VolumeAttributesClass", ["persistentvolumeclaims", "requests.storage"]],
]);
/** Scopes that an object is in or not: there is nothing to choose from. */
const plainScopes = [
  "BestEffort",
  "NotBestEffort",
  "Terminating",
  "NotTerminating",
  "CrossNamespacePodAffinity",
];
const opposites = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
];

const isHugePages = (name: string): boolean =>
  name.startsWith("hugepages-") || name.startsWith("requests.hugepages-");
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");
const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith("requests.") && qualifiedName(`requests.${name}`).length === 0;
const isOfQuotas = (name: string): boolean => ofQuotas.has(name) || isHugePages(name);
const sorted = (list: List | undefined): [string, string][] =>
  Object.entries(list ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));

function checkResourceName(errors: FieldErrors, path: string, name: string): void {
  const problems = qualifiedName(name);
  for (const problem of problems) errors.invalid(path, name, problem);
  if (problems.length === 0 && !name.includes("/") && !isOfQuotas(name) && name !== "storage")
    errors.invalid(path, name, "must be a standard resource type or fully qualified");
}

function checkAmounts(errors: FieldErrors, path: string, list: List | undefined): void {
  for (const [name, text] of sorted(list)) {
    const at = `${path}[${name}]`;
    checkResourceName(errors, at, name);
    if (!name.includes("/") && !isOfQuotas(name))
      errors.invalid(at, name, "must be a standard resource for quota");
    const quantity = Quantity.parse(text);
    if (quantity.sign < 0) errors.invalid(at, quantity.toString(), "must be greater than or equal to 0");
    const whole = counted.has(name) || isExtended(name);
    if (whole && quantity.milliValue() % 1000n !== 0n)
      errors.invalid(at, quantity.toString(), "must be an integer");
  }
}

function checkSpec(errors: FieldErrors, spec: ResourceQuotaSpec | undefined): void {
  checkAmounts(errors, "spec.hard", spec?.hard);
  const restricted = Object.keys(spec?.hard ?? {})
    .filter(isOfQuotas)
    .sort();
  const misfits = new Map(
    [...inScope].map(([scope, allowed]) => [
      scope,
      restricted.filter((name) => !allowed.includes(name)).length,
    ]),
  );
  const { scopes = [], scopeSelector } = spec ?? {};
  for (const scope of scopes) {
    if (!inScope.has(scope)) errors.invalid("spec.scopes", scopes, "unsupported scope");
    for (let count = misfits.get(scope) ?? 0; count > 0 && !errors.full; count--)
      errors.invalid("spec.scopes", scopes, "unsupported scope applied to resource");
  }
  checkOpposites(errors, "spec.scopes", scopes, scopes);
  if (scopeSelector === undefined) return;
  const path = "spec.scopeSelector.matchExpressions";
  const requirements = scopeSelector.matchExpressions ?? [];
  const printed = {
    MatchExpressions: scopeSelector.matchExpressions?.map(({ scopeName, operator, values }) => ({
      ScopeName: scopeName,
      Operator: operator,
      Values: values ?? null,
    })),
  };
  for (const { scopeName, operator, values = [] } of requirements) {
    if (!inScope.has(scopeName)) errors.invalid(`${path}.scopeName`, scopeName, "unsupported scope");
    for (let count = misfits.get(scopeName) ?? 0; count > 0 && !errors.full; count--)
      errors.invalid(path, printed, "unsupported scope applied to resource");
    if (plainScopes.includes(scopeName) && operator !== "Exists") {
      const detail =
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
      errors.invalid(`${path}.operator`, operator, detail);
    }
    checkOperator(errors, path, operator, values);
  }
  const named = requirements.map(({ scopeName }) => scopeName);
  checkOpposites(errors, path, named, spec?.scopes ?? null);
}

function checkOperator(errors: FieldErrors, path: string, operator: string, values: readonly string[]): void {
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) {
        const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
        errors.required(`${path}.values`, detail);
      }
      return;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) {
        const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
        errors.invalid(`${path}.values`, values, detail);
      }
      return;
    default:
      errors.invalid(`${path}.operator`, operator, "not a valid selector operator");
  }
}

function checkOpposites(
  errors: FieldErrors,
  path: string,
  scopes: readonly string[],
  printed: unknown,
): void {
  for (const pair of opposites) {
    if (pair.every((scope) => scopes.includes(scope))) errors.invalid(path, printed, "conflicting scopes");
  }
}

export const resourceQuota = {
  create(errors: FieldErrors, quota: ResourceQuota): void {
    checkMetadata(errors, "metadata", quota.metadata, dnsSubdomain, true);
    checkFinalizerNames(errors, "metadata", quota.metadata);
    checkSpec(errors, quota.spec);
  },
  update(errors: FieldErrors, quota: ResourceQuota, old: ResourceQuota): void {
    checkMetadataUpdate(errors, "metadata", quota.metadata, old.metadata);
    checkFinalizerNames(errors, "metadata", quota.metadata);
    checkSpec(errors, quota.spec);
    const scopes = (of: ResourceQuota): string[] => [...new Set(of.spec?.scopes ?? [])].sort();
    if (!sameValue(scopes(quota), scopes(old)))
      errors.invalid("spec.scopes", quota.spec?.scopes ?? null, "field is immutable");
  },
  status(errors: FieldErrors, quota: ResourceQuota, old: ResourceQuota): void {
    checkMetadataUpdate(errors, "metadata", quota.metadata, old.metadata);
    checkFinalizerNames(errors, "metadata", quota.metadata);
    checkAmounts(errors, "status.hard", quota.status?.hard);
    checkAmounts(errors, "status.used", quota.status?.used);
  },
};

const bounds = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

function checkLimits(
  errors: FieldErrors,
  path: string,
  item: LimitRangeItem,
  seen: ReadonlySet<string>,
): void {
  const { type = "" } = item;
  const problems = qualifiedName(type);
  for (const problem of problems) errors.invalid(`${path}.type`, type, problem);
  if (problems.length === 0 && !type.includes("/") && !limitTypes.includes(type))
    errors.invalid(`${path}.type`, type, "must be a standard limit type or fully qualified");
  if (seen.has(type)) errors.duplicate(`${path}.type`, type);
  const ofPod = type === "Pod";
  for (const bound of bounds) {
    if (ofPod && (bound === "default" || bound === "defaultRequest")) {
      if (Object.keys(item[bound] ?? {}).length > 0)
        errors.forbidden(`${path}.${bound}`, "may not be specified when `type` is 'Pod'");
      continue;
    }
    if (bound === "maxLimitRequestRatio" && type === "PersistentVolumeClaim")
      checkVolumeBounds(errors, path, item);
    for (const [name] of sorted(item[bound])) checkLimitName(errors, `${path}.${bound}[${name}]`, name, type);
  }
  const names = new Set(
    bounds.flatMap((bound) => (ofPod && bound.startsWith("default") ? [] : Object.keys(item[bound] ?? {}))),
  );
  for (const name of [...names].sort()) checkOrder(errors, path, name, ofPod ? withoutDefaults(item) : item);
}

const limitTypes = ["Pod", "Container", "PersistentVolumeClaim"];

function withoutDefaults({ default: _, defaultRequest: _request, ...rest }: LimitRangeItem): LimitRangeItem {
  return rest;
}

function checkVolumeBounds(errors: FieldErrors, path: string, { min, max }: LimitRangeItem): void {
  if (min?.["storage"] !== undefined || max?.["storage"] !== undefined) return;
  const detail = "either minimum or maximum storage value is required, but neither was provided";
  errors.required(`${path}.limits`, detail);
}

function checkLimitName(errors: FieldErrors, path: string, name: string, type: string): void {
  checkResourceName(errors, path, name);
  if (type !== "Pod" && type !== "Container") return;
  if (!name.includes("/")) {
    if (!computed.includes(name) && !name.startsWith("hugepages-"))
      errors.invalid(path, name, "must be a standard resource for containers");
  } else if (!isNative(name) && !isExtended(name)) {
    errors.invalid(path, name, "doesn't follow extended resource name standard");
  }
}

/** min <= default request <= default limit <= max, and a ratio that these leave room for. */
function checkOrder(errors: FieldErrors, path: string, name: string, item: LimitRangeItem): void {
  const read = (list: List | undefined): Quantity | undefined => {
    return list !== undefined && Object.hasOwn(list, name) ? Quantity.parse(list[name]!) : undefined;
  };
  const min = read(item.min);
  const max = read(item.max);
  const limit = read(item.default);
  const request = read(item.defaultRequest);
  const ratio = read(item.maxLimitRequestRatio);
  const at = (bound: (typeof bounds)[number]): string => `${path}.${bound}[${name}]`;
  const above = (low: Quantity | undefined, high: Quantity | undefined): boolean =>
    low !== undefined && high !== undefined && low.compare(high) > 0;
  const wrong = (bound: (typeof bounds)[number], value: Quantity | undefined, detail: string): void =>
    errors.invalid(at(bound), String(value), detail);
  if (above(min, max)) wrong("min", min, `min value ${min} is greater than max value ${max}`);
  if (above(min, request))
    wrong("defaultRequest", request, `min value ${min} is greater than default request value ${request}`);
  if (above(request, max))
    wrong("defaultRequest", request, `default request value ${request} is greater than max value ${max}`);
  if (above(request, limit))
    wrong(
      "defaultRequest",
      request,
      `default request value ${request} is greater than default limit value ${limit}`,
    );
  if (above(min, limit)) wrong("default", min, `min value ${min} is greater than default value ${limit}`);
  if (above(limit, max)) wrong("default", max, `default value ${limit} is greater than max value ${max}`);
  if (ratio !== undefined) {
    if (ratio.compare(Quantity.of(1)) < 0)
      wrong("maxLimitRequestRatio", ratio, `ratio ${ratio} is less than 1`);
    if (min !== undefined && max !== undefined) {
      const most = max.toNumber() / min.toNumber();
      if (ratio.toNumber() > most)
        wrong("maxLimitRequestRatio", ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`);
    }
  }
  // What cannot be promised twice is given as it is asked for.
  const exact = !isNative(name) || name.startsWith("hugepages-");
  if (exact && limit !== undefined && request !== undefined && limit.compare(request) !== 0)
    wrong(
      "defaultRequest",
      request,
      `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
    );
}

function checkRange(errors: FieldErrors, range: LimitRange): void {
  const seen = new Set<string>();
  (range.spec?.limits ?? []).forEach((item, index) => {
    checkLimits(errors, `spec.limits[${index}]`, item, seen);
    seen.add(item.type);
  });
}

/** An update is checked as if the object were new, as upstream does. */
export const limitRange = {
  create(errors: FieldErrors, range: LimitRange): void {
    checkMetadata(errors, "metadata", range.metadata, dnsSubdomain, true);
    checkFinalizerNames(errors, "metadata", range.metadata);
    checkRange(errors, range);
  },
  update(errors: FieldErrors, range: LimitRange): void {
    limitRange.create(errors, range);
  },
};
