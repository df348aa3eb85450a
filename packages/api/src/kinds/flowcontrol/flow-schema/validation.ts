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

function checkName(errors: FieldErrors, name: string | undefined): void {
  if (!name) errors.at("name").required();
}

function checkServiceAccount(errors: FieldErrors, subject: ServiceAccountSubject): void {
  const { name, namespace } = subject;
  checkName(errors, name);
  if (name && name !== any) errors.at("name").check(dnsSubdomain, name);
  if (namespace) errors.at("namespace").check(dnsLabel, namespace);
  else errors.at("namespace").required("must specify namespace for service account");
}

function checkSubject(errors: FieldErrors, subject: Subject): void {
  const kind = subject.kind ?? "";
  const field = subjectFields.find(([, of]) => of === kind);
  if (field === undefined) {
    errors.at("kind").notSupported(kind, subjectKinds);
    return;
  }
  const [own] = field;
  const here = errors.at(own);
  const value = subject[own];
  if (!value) here.required(`${own} is required when subject kind is '${kind}'`);
  else if (own === "serviceAccount") checkServiceAccount(here, value as ServiceAccountSubject);
  else checkName(here, value.name);
  for (const [field, of] of subjectFields)
    if (field !== own && subject[field])
      errors.at(field).forbidden(`${field} is forbidden when subject kind is not '${of}'`);
}

function checkVerbs(errors: FieldErrors, list: readonly string[] | undefined): void {
  const given = list ?? [];
  if (given.length === 0) errors.required("verbs must contain at least one value");
  else if (given.includes(any)) checkOnly(errors, given, "verbs");
  else if (!given.every((verb) => verbs.includes(verb))) errors.notSupported(given, verbs);
}

/** A wildcard stands alone. */
function checkOnly(errors: FieldErrors, list: readonly string[], what: string): void {
  if (list.length > 1 && list.includes(any))
    errors.invalid(list, `if '*' is present, must not specify other ${what}`);
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

function checkNonResourceRule(errors: FieldErrors, rule: NonResourcePolicyRule): void {
  checkVerbs(errors.at("verbs"), rule.verbs);
  const urls = rule.nonResourceURLs ?? [];
  const here = errors.at("nonResourceURLs");
  if (urls.length === 0) here.required("nonResourceURLs must contain at least one value");
  else if (urls.includes(any)) checkOnly(here, urls, "non-resource URLs");
  else
    urls.forEach((url, index) => {
      const problem = urlProblem(url);
      if (problem !== undefined) here.index(index).invalid(url, problem);
    });
}

function checkResourceRule(errors: FieldErrors, rule: ResourcePolicyRule): void {
  checkVerbs(errors.at("verbs"), rule.verbs);
  // Go writes an unset list as null.
  const apiGroups = rule.apiGroups ?? [];
  const resources = rule.resources ?? [];
  const namespaces = rule.namespaces ?? [];
  if (apiGroups.length === 0)
    errors.at("apiGroups").required("resource rules must supply at least one api group");
  else checkOnly(errors.at("apiGroups"), apiGroups, "api groups");
  if (resources.length === 0)
    errors.at("resources").required("resource rules must supply at least one resource");
  else checkOnly(errors.at("resources"), resources, "resources");
  const here = errors.at("namespaces");
  if (namespaces.length === 0 && !rule.clusterScope)
    here.required("resource rules that are not cluster scoped must supply at least one namespace");
  else if (namespaces.includes(any)) checkOnly(here, namespaces, "namespaces");
  else
    namespaces.forEach((namespace, index) => {
      for (const problem of dnsLabel(namespace)) {
        const detail = `each member of this list must be '*' or a DNS-1123 label; ${problem}`;
        here.index(index).invalid(namespace, detail);
      }
    });
}

function checkRules(errors: FieldErrors, rule: PolicyRulesWithSubjects): void {
  const { resourceRules = [], nonResourceRules = [] } = rule;
  const subjects = rule.subjects ?? [];
  if (subjects.length === 0) errors.at("subjects").required("subjects must contain at least one value");
  subjects.forEach((subject, index) => {
    checkSubject(errors.at("subjects").index(index), subject);
  });
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    errors.required("at least one of resourceRules and nonResourceRules has to be non-empty");
  resourceRules.forEach((each, index) => {
    checkResourceRule(errors.at("resourceRules").index(index), each);
  });
  nonResourceRules.forEach((each, index) => {
    checkNonResourceRule(errors.at("nonResourceRules").index(index), each);
  });
}

function checkSchemaSpec(errors: FieldErrors, name: string, spec: Partial<FlowSchemaSpec>): void {
  const precedence = spec.matchingPrecedence ?? 0;
  const precedenceErrors = errors.at("spec.matchingPrecedence");
  if (precedence <= 0) precedenceErrors.invalid(precedence, "must be a positive value");
  if (precedence > maxPrecedence)
    precedenceErrors.invalid(precedence, `must not be greater than ${maxPrecedence}`);
  if (precedence === 1 && name !== "exempt")
    precedenceErrors.invalid(precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  const method = spec.distinguisherMethod;
  if (method && !distinguisherMethods.includes(method.type ?? "")) {
    // The message shows the struct of the server, not its type.
    const shown = internalForm("flowcontrol/v1.FlowDistinguisherMethod", method, errors);
    errors.at("spec.distinguisherMethod.type").notSupported(shown, distinguisherMethods);
  }
  const level = spec.priorityLevelConfiguration?.name;
  const reference = errors.at("spec.priorityLevelConfiguration.name");
  if (level) reference.check(dnsSubdomain, level);
  else reference.required("must reference a priority level");
  (spec.rules ?? []).forEach((rule, index) => {
    checkRules(errors.at("spec.rules").index(index), rule);
  });
}

const fixedSchemas = mandatoryFlowControl.flowSchemas;

function checkFlowSchema(errors: FieldErrors, object: FlowSchema): void {
  checkMetadata(errors.at("metadata"), object.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors.at("metadata"), object.metadata);
  const { name } = object.metadata;
  checkSchemaSpec(errors, name, object.spec ?? {});
  const fixed = Object.hasOwn(fixedSchemas, name) ? fixedSchemas[name] : undefined;
  if (fixed !== undefined && !sameValue(object.spec, fixed)) {
    const shown = internalForm("flowcontrol/v1.FlowSchemaSpec", object.spec, errors);
    errors.at("spec").invalid(shown, `spec of '${name}' must equal the fixed value`);
  }
  checkConditions(errors, object.status?.conditions);
}

export const flowSchemaValidation = {
  create: checkFlowSchema,
  update(errors: FieldErrors, object: FlowSchema, old: FlowSchema): void {
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkFlowSchema(errors, object);
  },
  status(errors: FieldErrors, object: FlowSchema): void {
    checkConditions(errors, object.status?.conditions);
  },
};
