/** Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidateFlowSchema */

import { type FieldErrors, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type {
  FlowSchema,
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from "../../../generated/flowcontrol/v1.ts";
import { dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { checkConditions } from "../conditions.ts";
import { mandatoryFlowControl } from "../mandatory.ts";

const any = "*";

/** FlowSchemaMaxMatchingPrecedence */
const maxPrecedence = 10_000;
const distinguisherMethods = ["ByNamespace", "ByUser"];
const subjectKinds = ["Group", "ServiceAccount", "User"];
const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/** Words of the messages about a field that belongs to another subject kind. */
const subjectFields = [
  ["serviceAccount", "ServiceAccount"],
  ["user", "User"],
  ["group", "Group"],
] as const;

function checkName(errors: FieldErrors, path: string, name: string | undefined): void {
  if (!name) errors.required(`${path}.name`);
}

function checkServiceAccount(errors: FieldErrors, path: string, subject: ServiceAccountSubject): void {
  const { name, namespace } = subject;
  checkName(errors, path, name);
  if (name && name !== any) errors.check(dnsSubdomain, `${path}.name`, name);
  if (namespace) errors.check(dnsLabel, `${path}.namespace`, namespace);
  else errors.required(`${path}.namespace`, "must specify namespace for service account");
}

function checkSubject(errors: FieldErrors, path: string, subject: Subject): void {
  const kind = subject.kind ?? "";
  if (!subjectKinds.includes(kind)) {
    errors.notSupported(`${path}.kind`, kind, subjectKinds);
    return;
  }
  const [own] = subjectFields.find(([, of]) => of === kind)!;
  const at = `${path}.${own}`;
  const value = subject[own];
  if (!value) errors.required(at, `${own} is required when subject kind is '${kind}'`);
  else if (own === "serviceAccount") checkServiceAccount(errors, at, value as ServiceAccountSubject);
  else checkName(errors, at, value.name);
  for (const [field, of] of subjectFields)
    if (field !== own && subject[field])
      errors.forbidden(`${path}.${field}`, `${field} is forbidden when subject kind is not '${of}'`);
}

function checkVerbs(errors: FieldErrors, path: string, list: readonly string[] | undefined): void {
  const given = list ?? [];
  if (given.length === 0) errors.required(path, "verbs must contain at least one value");
  else if (given.includes(any)) checkOnly(errors, path, given, "verbs");
  else if (!given.every((verb) => verbs.includes(verb))) errors.notSupported(path, given, verbs);
}

/** A wildcard stands alone. */
function checkOnly(errors: FieldErrors, path: string, list: readonly string[], what: string): void {
  if (list.length > 1 && list.includes(any))
    errors.invalid(path, list, `if '*' is present, must not specify other ${what}`);
}

/** Upstream: ValidateNonResourceURLPath */
function urlProblem(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (path === "/") return undefined;
  if (!path.startsWith("/")) return "must start with slash";
  if (path.includes(" ")) return "must not contain white-space";
  if (path.includes("//")) return "must not contain double slash";
  const wildcards = path.split(any).length - 1;
  const fits = wildcards === 0 || (wildcards === 1 && path.endsWith("/*"));
  return fits ? undefined : "wildcard can only do suffix matching";
}

function checkNonResourceRule(errors: FieldErrors, path: string, rule: NonResourcePolicyRule): void {
  checkVerbs(errors, `${path}.verbs`, rule.verbs);
  const urls = rule.nonResourceURLs ?? [];
  const at = `${path}.nonResourceURLs`;
  if (urls.length === 0) errors.required(at, "nonResourceURLs must contain at least one value");
  else if (urls.includes(any)) checkOnly(errors, at, urls, "non-resource URLs");
  else
    urls.forEach((url, index) => {
      const problem = urlProblem(url);
      if (problem !== undefined) errors.invalid(`${at}[${index}]`, url, problem);
    });
}

function checkResourceRule(errors: FieldErrors, path: string, rule: ResourcePolicyRule): void {
  checkVerbs(errors, `${path}.verbs`, rule.verbs);
  // Go writes an unset list as null.
  const apiGroups = rule.apiGroups ?? [];
  const resources = rule.resources ?? [];
  const namespaces = rule.namespaces ?? [];
  if (apiGroups.length === 0)
    errors.required(`${path}.apiGroups`, "resource rules must supply at least one api group");
  else checkOnly(errors, `${path}.apiGroups`, apiGroups, "api groups");
  if (resources.length === 0)
    errors.required(`${path}.resources`, "resource rules must supply at least one resource");
  else checkOnly(errors, `${path}.resources`, resources, "resources");
  const at = `${path}.namespaces`;
  if (namespaces.length === 0 && !rule.clusterScope)
    errors.required(at, "resource rules that are not cluster scoped must supply at least one namespace");
  else if (namespaces.includes(any)) checkOnly(errors, at, namespaces, "namespaces");
  else
    namespaces.forEach((namespace, index) => {
      for (const problem of dnsLabel(namespace)) {
        const detail = `each member of this list must be '*' or a DNS-1123 label; ${problem}`;
        errors.invalid(`${at}[${index}]`, namespace, detail);
      }
    });
}

function checkRules(errors: FieldErrors, path: string, rule: PolicyRulesWithSubjects): void {
  const { resourceRules = [], nonResourceRules = [] } = rule;
  const subjects = rule.subjects ?? [];
  if (subjects.length === 0) errors.required(`${path}.subjects`, "subjects must contain at least one value");
  subjects.forEach((subject, index) => {
    checkSubject(errors, `${path}.subjects[${index}]`, subject);
  });
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    errors.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty");
  resourceRules.forEach((each, index) => {
    checkResourceRule(errors, `${path}.resourceRules[${index}]`, each);
  });
  nonResourceRules.forEach((each, index) => {
    checkNonResourceRule(errors, `${path}.nonResourceRules[${index}]`, each);
  });
}

function checkSchemaSpec(errors: FieldErrors, name: string, spec: Partial<FlowSchemaSpec>): void {
  const precedence = spec.matchingPrecedence ?? 0;
  const path = "spec.matchingPrecedence";
  if (precedence <= 0) errors.invalid(path, precedence, "must be a positive value");
  if (precedence > maxPrecedence)
    errors.invalid(path, precedence, `must not be greater than ${maxPrecedence}`);
  if (precedence === 1 && name !== "exempt")
    errors.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  const method = spec.distinguisherMethod;
  if (method && !distinguisherMethods.includes(method.type ?? "")) {
    // The message shows the struct of the server, not its type.
    const shown = internalForm("flowcontrol/v1.FlowDistinguisherMethod", method, errors.release);
    errors.notSupported("spec.distinguisherMethod.type", shown, distinguisherMethods);
  }
  const level = spec.priorityLevelConfiguration?.name;
  const at = "spec.priorityLevelConfiguration.name";
  if (level) errors.check(dnsSubdomain, at, level);
  else errors.required(at, "must reference a priority level");
  (spec.rules ?? []).forEach((rule, index) => {
    checkRules(errors, `spec.rules[${index}]`, rule);
  });
}

const fixedSchemas = mandatoryFlowControl.flowSchemas;

function checkFlowSchema(errors: FieldErrors, object: FlowSchema): void {
  checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors, "metadata", object.metadata);
  const { name } = object.metadata;
  checkSchemaSpec(errors, name, object.spec ?? {});
  const fixed = Object.hasOwn(fixedSchemas, name) ? fixedSchemas[name] : undefined;
  if (fixed !== undefined && !sameValue(object.spec, fixed)) {
    const shown = internalForm("flowcontrol/v1.FlowSchemaSpec", object.spec, errors.release);
    errors.invalid("spec", shown, `spec of '${name}' must equal the fixed value`);
  }
  checkConditions(errors, object.status?.conditions);
}

export const flowSchemaValidation = {
  create: checkFlowSchema,
  update(errors: FieldErrors, object: FlowSchema, old: FlowSchema): void {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkFlowSchema(errors, object);
  },
  status(errors: FieldErrors, object: FlowSchema): void {
    checkConditions(errors, object.status?.conditions);
  },
};
