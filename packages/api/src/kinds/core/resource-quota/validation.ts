import { type FieldErrors, sameValue } from "../../../checks/field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { ResourceQuota, ResourceQuotaSpec } from "../../../generated/core/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";
import { counted } from "../pod/resources.ts";
import { checkResourceName, isExtended, isOfQuotas, type List, sorted } from "../quota-names.ts";

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

function checkAmounts(errors: FieldErrors, list: List | undefined): void {
  for (const [name, text] of sorted(list)) {
    const here = errors.key(name);
    checkResourceName(here, name);
    if (!name.includes("/") && !isOfQuotas(name)) here.invalid(name, "must be a standard resource for quota");
    const quantity = Quantity.parse(text);
    if (quantity.sign < 0) here.invalid(quantity.toString(), "must be greater than or equal to 0");
    const whole = counted.has(name) || isExtended(name);
    if (whole && quantity.milliValue() % 1000n !== 0n)
      here.invalid(quantity.toString(), "must be an integer");
  }
}

function checkSpec(errors: FieldErrors, spec: ResourceQuotaSpec | undefined): void {
  checkAmounts(errors.at("spec.hard"), spec?.hard);
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
    if (!inScope.has(scope)) errors.at("spec.scopes").invalid(scopes, "unsupported scope");
    for (let count = misfits.get(scope) ?? 0; count > 0 && !errors.full; count--)
      errors.at("spec.scopes").invalid(scopes, "unsupported scope applied to resource");
  }
  checkOpposites(errors.at("spec.scopes"), scopes, scopes);
  if (scopeSelector === undefined) return;
  const here = errors.at("spec.scopeSelector.matchExpressions");
  const requirements = scopeSelector.matchExpressions ?? [];
  const printed = {
    MatchExpressions: scopeSelector.matchExpressions?.map(({ scopeName, operator, values }) => ({
      ScopeName: scopeName,
      Operator: operator,
      Values: values ?? null,
    })),
  };
  for (const { scopeName, operator, values = [] } of requirements) {
    if (!inScope.has(scopeName)) here.at("scopeName").invalid(scopeName, "unsupported scope");
    for (let count = misfits.get(scopeName) ?? 0; count > 0 && !errors.full; count--)
      here.invalid(printed, "unsupported scope applied to resource");
    if (plainScopes.includes(scopeName) && operator !== "Exists") {
      const detail =
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
      here.at("operator").invalid(operator, detail);
    }
    checkOperator(here, operator, values);
  }
  const named = requirements.map(({ scopeName }) => scopeName);
  checkOpposites(here, named, spec?.scopes ?? null);
}

function checkOperator(errors: FieldErrors, operator: string, values: readonly string[]): void {
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) {
        const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
        errors.at("values").required(detail);
      }
      return;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) {
        const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
        errors.at("values").invalid(values, detail);
      }
      return;
    default:
      errors.at("operator").invalid(operator, "not a valid selector operator");
  }
}

function checkOpposites(errors: FieldErrors, scopes: readonly string[], printed: unknown): void {
  for (const pair of opposites) {
    if (pair.every((scope) => scopes.includes(scope))) errors.invalid(printed, "conflicting scopes");
  }
}

export const resourceQuotaValidation = {
  create(errors: FieldErrors, quota: ResourceQuota): void {
    checkMetadata(errors.at("metadata"), quota.metadata, dnsSubdomain, true);
    checkFinalizerNames(errors.at("metadata"), quota.metadata);
    checkSpec(errors, quota.spec);
  },
  update(errors: FieldErrors, quota: ResourceQuota, old: ResourceQuota): void {
    checkMetadataUpdate(errors.at("metadata"), quota.metadata, old.metadata);
    checkFinalizerNames(errors.at("metadata"), quota.metadata);
    checkSpec(errors, quota.spec);
    const scopes = (of: ResourceQuota): string[] => [...new Set(of.spec?.scopes ?? [])].sort();
    if (!sameValue(scopes(quota), scopes(old)))
      errors.at("spec.scopes").invalid(quota.spec?.scopes ?? null, "field is immutable");
  },
  status(errors: FieldErrors, quota: ResourceQuota, old: ResourceQuota): void {
    checkMetadataUpdate(errors.at("metadata"), quota.metadata, old.metadata);
    checkFinalizerNames(errors.at("metadata"), quota.metadata);
    checkAmounts(errors.at("status.hard"), quota.status?.hard);
    checkAmounts(errors.at("status.used"), quota.status?.used);
  },
};
