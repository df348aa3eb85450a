import type { FieldErrors } from "../../../checks/field.ts";
import { checkFinalizerNames, checkMetadata } from "../../../checks/metadata.ts";
import type { LimitRange, LimitRangeItem } from "../../../generated/core/v1.ts";
import { dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";
import { checkResourceName, computed, isExtended, isNative, type List, sorted } from "../quota-names.ts";

const bounds = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

function checkLimits(errors: FieldErrors, item: LimitRangeItem, seen: ReadonlySet<string>): void {
  const { type = "" } = item;
  const problems = qualifiedName(type);
  for (const problem of problems) errors.at("type").invalid(type, problem);
  if (problems.length === 0 && !type.includes("/") && !limitTypes.includes(type))
    errors.at("type").invalid(type, "must be a standard limit type or fully qualified");
  if (seen.has(type)) errors.at("type").duplicate(type);
  const ofPod = type === "Pod";
  for (const bound of bounds) {
    if (ofPod && (bound === "default" || bound === "defaultRequest")) {
      if (Object.keys(item[bound] ?? {}).length > 0)
        errors.at(bound).forbidden("may not be specified when `type` is 'Pod'");
      continue;
    }
    if (bound === "maxLimitRequestRatio" && type === "PersistentVolumeClaim") checkVolumeBounds(errors, item);
    for (const [name] of sorted(item[bound])) checkLimitName(errors.at(bound).key(name), name, type);
  }
  const names = new Set(
    bounds.flatMap((bound) => (ofPod && bound.startsWith("default") ? [] : Object.keys(item[bound] ?? {}))),
  );
  for (const name of [...names].sort()) checkOrder(errors, name, ofPod ? withoutDefaults(item) : item);
}

const limitTypes = ["Pod", "Container", "PersistentVolumeClaim"];

function withoutDefaults({ default: _, defaultRequest: _request, ...rest }: LimitRangeItem): LimitRangeItem {
  return rest;
}

function checkVolumeBounds(errors: FieldErrors, { min, max }: LimitRangeItem): void {
  if (min?.["storage"] !== undefined || max?.["storage"] !== undefined) return;
  const detail = "either minimum or maximum storage value is required, but neither was provided";
  errors.at("limits").required(detail);
}

function checkLimitName(errors: FieldErrors, name: string, type: string): void {
  checkResourceName(errors, name);
  if (type !== "Pod" && type !== "Container") return;
  if (!name.includes("/")) {
    if (!computed.includes(name) && !name.startsWith("hugepages-"))
      errors.invalid(name, "must be a standard resource for containers");
  } else if (!isNative(name) && !isExtended(name)) {
    errors.invalid(name, "doesn't follow extended resource name standard");
  }
}

/** min <= default request <= default limit <= max, and a ratio that these leave room for. */
function checkOrder(errors: FieldErrors, name: string, item: LimitRangeItem): void {
  const read = (list: List | undefined): Quantity | undefined => {
    return list !== undefined && Object.hasOwn(list, name) ? Quantity.parse(list[name]!) : undefined;
  };
  const min = read(item.min);
  const max = read(item.max);
  const limit = read(item.default);
  const request = read(item.defaultRequest);
  const ratio = read(item.maxLimitRequestRatio);
  const above = (low: Quantity | undefined, high: Quantity | undefined): boolean =>
    low !== undefined && high !== undefined && low.compare(high) > 0;
  const wrong = (bound: (typeof bounds)[number], value: Quantity | undefined, detail: string): void =>
    errors.at(bound).key(name).invalid(String(value), detail);
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
  // Resources that cannot be overcommitted have equal requests and limits.
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
    checkLimits(errors.at("spec.limits").index(index), item, seen);
    seen.add(item.type);
  });
}

/** An update is checked as if the object were new, as upstream does. */
export const limitRangeValidation = {
  create(errors: FieldErrors, range: LimitRange): void {
    checkMetadata(errors.at("metadata"), range.metadata, dnsSubdomain, true);
    checkFinalizerNames(errors.at("metadata"), range.metadata);
    checkRange(errors, range);
  },
  update(errors: FieldErrors, range: LimitRange): void {
    limitRangeValidation.create(errors, range);
  },
};
