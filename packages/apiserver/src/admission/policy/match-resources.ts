import type { MatchResources, NamedRuleWithOperations } from "@dray/api/admissionregistration/v1";
import type { AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { namespaceSelected, objectSelected, ruleConcerns, ruleMatches } from "../matching.ts";
import { otherVersions, requestedVersion, type VersionedResource } from "../versions.ts";

/**
 * Returns the version in which a request matches; undefined if it does not. Throws StatusError.
 * Upstream: pkg/admission/plugin/policy/matching/matching.go, Matcher.Matches
 */
export function matchedVersion(
  match: MatchResources,
  request: AdmissionRequest,
  context: AdmissionContext,
): VersionedResource | undefined {
  const inNamespace = namespaceSelected(match.namespaceSelector, request, context.storage);
  if (inNamespace === false || !objectSelected(match.objectSelector, request)) return undefined;
  const { matchPolicy, excludeResourceRules, resourceRules: rules = [] } = match;
  if (versionByRules(excludeResourceRules, matchPolicy, request, context) !== undefined) return undefined;
  const version =
    rules.length === 0 ? requestedVersion(request) : versionByRules(rules, matchPolicy, request, context);
  if (version !== undefined && inNamespace !== true) throw inNamespace;
  return version;
}

function versionByRules(
  rules: readonly NamedRuleWithOperations[] | undefined,
  matchPolicy: string | undefined,
  request: AdmissionRequest,
  context: AdmissionContext,
): VersionedResource | undefined {
  const fits = (rule: NamedRuleWithOperations, version: VersionedResource): boolean =>
    ruleMatches(rule, request, version) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(request.objectName));
  const asked = requestedVersion(request);
  if (rules?.some((rule) => fits(rule, asked))) return asked;
  // Most requests end here, without a list of versions.
  if (matchPolicy !== "Equivalent" || !rules?.some((rule) => ruleConcerns(rule, request))) return undefined;
  const others = [...otherVersions(request, context.resources)];
  for (const rule of rules) {
    const version = others.find((other) => fits(rule, other));
    if (version !== undefined) return version;
  }
  return undefined;
}
