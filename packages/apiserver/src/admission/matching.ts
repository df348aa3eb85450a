import { type LabelSelection, labelSelectorOf, type StatusError } from "@dray/api";
import type { RuleWithOperations } from "@dray/api/admissionregistration/v1";
import type { LabelSelector } from "@dray/api/meta/v1";
import { notFound } from "../errors/status.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import type { AdmissionRequest } from "./admission.ts";
import { isNamespaces, namespaceOf, type VersionedResource } from "./versions.ts";

const has = (items: readonly string[] | undefined, wanted: string): boolean =>
  (items ?? []).some((item) => item === "*" || item === wanted);

/** Reports whether a rule of a policy or a webhook matches this request in a version of its resource. */
export function ruleMatches(
  rule: RuleWithOperations,
  request: AdmissionRequest,
  version: Pick<VersionedResource, "group" | "version" | "resource">,
): boolean {
  return (
    has(rule.apiGroups, version.group) &&
    has(rule.apiVersions, version.version) &&
    ruleConcerns(rule, request, version.resource)
  );
}

/** Reports whether a rule can match the request in any group and version. */
export function ruleConcerns(
  rule: RuleWithOperations,
  request: AdmissionRequest,
  resource: string = request.served.resource,
): boolean {
  return (
    scopeMatches(rule.scope, request) &&
    has(rule.operations, request.operation) &&
    (rule.resources ?? []).some((pattern) => resourceMatches(pattern, resource, request.subresource))
  );
}

/** A Namespace counts as cluster-scoped although requests for it have its own namespace. */
function scopeMatches(scope: string | undefined, request: AdmissionRequest): boolean {
  if (scope === undefined || scope === "*") return true;
  const clusterScoped = isNamespaces(request.served) || request.namespace === "";
  return clusterScoped === (scope === "Cluster");
}

function resourceMatches(pattern: string, resource: string, subresource: string): boolean {
  const slash = pattern.indexOf("/");
  const [main, sub] = slash < 0 ? [pattern, ""] : [pattern.slice(0, slash), pattern.slice(slash + 1)];
  return (main === "*" || main === resource) && (sub === "*" || sub === subresource);
}

/** Memo: selectors of stored objects, which are frozen, are parsed once. */
const selections = new WeakMap<LabelSelector, LabelSelection>();

/** Throws SelectorError. */
function selectionOf(selector: LabelSelector): LabelSelection {
  let selection = selections.get(selector);
  if (selection === undefined) {
    selection = labelSelectorOf(selector);
    selections.set(selector, selection);
  }
  return selection;
}

const isEmpty = ({ matchLabels, matchExpressions }: LabelSelector): boolean =>
  Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0;

/**
 * Reports whether the selector matches the labels of the request's namespace. A request without a namespace
 * always matches; a Namespace is matched by its own labels. Returns a 404 if the namespace does not exist.
 * Throws SelectorError.
 */
export function namespaceSelected(
  selector: LabelSelector | undefined,
  request: AdmissionRequest,
  storage: Storage,
): boolean | StatusError {
  const name = namespaceOf(request);
  if (name === "" && request.served.resource !== "namespaces") return true;
  if (selector === undefined || isEmpty(selector)) return true;
  const writesNamespace =
    isNamespaces(request.served) && request.subresource === "" && request.object !== undefined;
  const namespace = writesNamespace
    ? request.object
    : storage.cache("namespaces").get(objectKey("namespaces", "", name))?.object;
  if (namespace === undefined) return notFound({ group: "", resource: "namespaces" }, name);
  return selectionOf(selector).matches(namespace.metadata.labels);
}

/** Reports whether the selector matches the new or the old object. Throws SelectorError. */
export function objectSelected(
  selector: LabelSelector | undefined,
  { object, old }: AdmissionRequest,
): boolean {
  if (selector === undefined || isEmpty(selector)) return true;
  const selection = selectionOf(selector);
  return [object, old].some((one) => one?.metadata !== undefined && selection.matches(one.metadata.labels));
}
