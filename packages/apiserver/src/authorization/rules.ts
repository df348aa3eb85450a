import { quoted } from "@dray/api";
import type { PolicyRule } from "@dray/api/rbac/v1";
import type { Attributes } from "./attributes.ts";

/** Reports whether a rule of a role allows the action (RBAC: every list must match; `*` matches all). */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false;
  if (!attributes.isResource)
    return (rule.nonResourceURLs ?? []).some((url) => pathMatches(url, attributes.path));
  if (!hasOrAll(rule.apiGroups, attributes.group)) return false;
  if (!resourceMatches(rule.resources, attributes.resource, attributes.subresource)) return false;
  const names = rule.resourceNames ?? [];
  return names.length === 0 || names.includes(attributes.name);
}

function hasOrAll(list: readonly string[] | undefined, value: string): boolean {
  return list?.some((item) => item === "*" || item === value) ?? false;
}

function pathMatches(url: string, path: string): boolean {
  if (url === "*" || url === path) return true;
  return url.endsWith("*") && path.startsWith(withoutStars(url));
}

/** Returns the URL without the stars at its end; a pattern would look at each run of stars within it. */
function withoutStars(url: string): string {
  let end = url.length;
  while (url[end - 1] === "*") end--;
  return url.slice(0, end);
}

function resourceMatches(
  list: readonly string[] | undefined,
  resource: string,
  subresource: string,
): boolean {
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  return (
    list?.some(
      (item) => item === "*" || item === whole || (subresource !== "" && item === `*/${subresource}`),
    ) ?? false
  );
}

/** Splits a rule into its smallest parts: one verb, one group, one resource, one name or URL each. */
function breakdown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  for (const apiGroup of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs ?? []) {
        const base: PolicyRule = { verbs: [verb], apiGroups: [apiGroup], resources: [resource] };
        const names = rule.resourceNames ?? [];
        if (names.length === 0) parts.push(base);
        for (const name of names) parts.push({ ...base, resourceNames: [name] });
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? []) {
    for (const verb of rule.verbs ?? []) parts.push({ verbs: [verb], nonResourceURLs: [url] });
  }
  return parts;
}

/** Maximum number of parts that rules are split into: comparing more may take hours. */
const maxParts = 100_000;

/** Returns the parts of `required` that no rule of `held` covers. */
export function uncovered(held: readonly PolicyRule[], required: readonly PolicyRule[]): PolicyRule[] {
  const parts = required.reduce((sum, rule) => sum + partCount(rule), 0);
  const each = parts > maxParts ? required : required.flatMap(breakdown);
  const rules = held.map((rule) => new HeldRule(rule));
  return each.filter((part) => !rules.some((rule) => rule.covers(part)));
}

function partCount({ apiGroups, resources, resourceNames, nonResourceURLs, verbs }: PolicyRule): number {
  const count = (list: readonly string[] | undefined): number => list?.length ?? 0;
  const ofResources = count(apiGroups) * count(resources) * Math.max(1, count(resourceNames));
  return (ofResources + count(nonResourceURLs)) * count(verbs);
}

/** A rule as sets: both it and those that it is compared to may have thousands of entries. */
class HeldRule {
  readonly #verbs: ReadonlySet<string>;
  readonly #groups: ReadonlySet<string>;
  readonly #resources: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;
  readonly #urls: ReadonlySet<string>;
  /** URLs that end with a star, without it, and their lengths. */
  readonly #prefixes: ReadonlySet<string>;
  readonly #prefixLengths: ReadonlySet<number>;

  constructor({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule) {
    this.#verbs = new Set(verbs);
    this.#groups = new Set(apiGroups);
    this.#resources = new Set(resources);
    this.#names = new Set(resourceNames);
    this.#urls = new Set(nonResourceURLs);
    this.#prefixes = new Set([...this.#urls].filter((url) => url.endsWith("*")).map(withoutStars));
    this.#prefixLengths = new Set([...this.#prefixes].map(({ length }) => length));
  }

  /** Reports whether the rule grants everything that another one grants. */
  covers(required: PolicyRule): boolean {
    if (!hasAll(this.#verbs, required.verbs)) return false;
    if (!(required.nonResourceURLs ?? []).every((url) => this.#coversUrl(url))) return false;
    const resources = required.resources ?? [];
    if (resources.length === 0) return true;
    if (!hasAll(this.#groups, required.apiGroups)) return false;
    if (!resources.every((resource) => this.#coversResource(resource))) return false;
    if (this.#names.size === 0) return true;
    const names = required.resourceNames ?? [];
    return names.length > 0 && names.every((name) => this.#names.has(name));
  }

  #coversUrl(url: string): boolean {
    if (this.#urls.has("*") || this.#urls.has(url)) return true;
    return [...this.#prefixLengths].some(
      (length) => length <= url.length && this.#prefixes.has(url.slice(0, length)),
    );
  }

  #coversResource(required: string): boolean {
    if (this.#resources.has("*") || this.#resources.has(required)) return true;
    const [resource, subresource = ""] = required.split("/");
    return subresource !== "" && resource !== "" && this.#resources.has(`*/${subresource}`);
  }
}

const hasAll = (own: ReadonlySet<string>, list: readonly string[] | undefined): boolean =>
  own.has("*") || (list ?? []).every((value) => own.has(value));

/** Formats rules as in an escalation error: rules of one resource are joined by verb, and sorted. */
export function compactText(rules: readonly PolicyRule[]): string {
  const joined = new Map<string, PolicyRule>();
  const paths = rules.filter((rule) => rule.nonResourceURLs !== undefined);
  for (const rule of rules) {
    if (rule.nonResourceURLs !== undefined) continue;
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames]);
    const present = joined.get(key);
    joined.set(key, present ? { ...present, verbs: [...present.verbs, ...rule.verbs] } : rule);
  }
  return [...paths, ...joined.values()].map(ruleText).sort().join("\n");
}

function ruleText(rule: PolicyRule): string {
  const list = (items: readonly string[]): string => `[${items.map((item) => quoted(item)).join(" ")}]`;
  const parts: string[] = [];
  if (rule.nonResourceURLs?.length) parts.push(`NonResourceURLs:${list(rule.nonResourceURLs)}`);
  if (rule.apiGroups?.length) parts.push(`APIGroups:${list(rule.apiGroups)}`);
  if (rule.resources?.length) parts.push(`Resources:${list(rule.resources)}`);
  if (rule.resourceNames?.length) parts.push(`ResourceNames:${list(rule.resourceNames)}`);
  parts.push(`Verbs:${list(rule.verbs)}`);
  return `{${parts.join(", ")}}`;
}
