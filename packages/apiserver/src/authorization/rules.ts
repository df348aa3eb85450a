import type { PolicyRule } from "@dray/api/rbac/v1";
import type { Attributes } from "./attributes.ts";

/** Does one rule of a role allow this? (RBAC: every list must match; `*` matches all.) */
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
  return url.endsWith("*") && path.startsWith(url.replace(/\*+$/, ""));
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

/** The smallest rules that a rule consists of: one verb, one group, one resource, one name or URL each. */
export function breakdown(rule: PolicyRule): PolicyRule[] {
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

/** The parts of `wanted` that no rule of `held` covers. */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakdown).filter((part) => !held.some((rule) => covers(rule, part)));
}

function covers(rule: PolicyRule, part: PolicyRule): boolean {
  const all = (list: readonly string[] | undefined, value: string): boolean => hasOrAll(list, value);
  if (!all(rule.verbs, part.verbs[0]!)) return false;
  const url = part.nonResourceURLs?.[0];
  if (url !== undefined) {
    return (rule.nonResourceURLs ?? []).some(
      (own) => own === "*" || own === url || (own.endsWith("*") && url.startsWith(own.replace(/\*+$/, ""))),
    );
  }
  if (!all(rule.apiGroups, part.apiGroups![0]!)) return false;
  const wanted = part.resources![0]!;
  const [resource, subresource = ""] = wanted.split("/");
  const matches =
    rule.resources?.some(
      (own) =>
        own === "*" ||
        own === wanted ||
        (subresource !== "" && resource !== "" && own === `*/${subresource}`),
    ) ?? false;
  if (!matches) return false;
  const names = rule.resourceNames ?? [];
  if (names.length === 0) return true;
  const name = part.resourceNames?.[0];
  return name !== undefined && names.includes(name);
}

/** Rules as an escalation error prints them: those of one resource joined by verb, sorted. */
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
  const list = (items: readonly string[]): string =>
    `[${items.map((item) => JSON.stringify(item)).join(" ")}]`;
  const parts: string[] = [];
  if (rule.nonResourceURLs?.length) parts.push(`NonResourceURLs:${list(rule.nonResourceURLs)}`);
  if (rule.apiGroups?.length) parts.push(`APIGroups:${list(rule.apiGroups)}`);
  if (rule.resources?.length) parts.push(`Resources:${list(rule.resources)}`);
  if (rule.resourceNames?.length) parts.push(`ResourceNames:${list(rule.resourceNames)}`);
  parts.push(`Verbs:${list(rule.verbs)}`);
  return `{${parts.join(", ")}}`;
}
