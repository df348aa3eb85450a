/** FlowSchema and PriorityLevelConfiguration. Upstream: pkg/apis/flowcontrol/validation/validation.go */
import type {
  FlowSchema,
  FlowSchemaSpec,
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from "../generated/flowcontrol/v1.ts";
import { dnsLabel, dnsSubdomain } from "../values/names.ts";
import { asTyped, type FieldErrors, sameValue } from "./field.ts";
import mandatory from "./flowcontrol-mandatory.json" with { type: "json" };
import { internalForm } from "./internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "./metadata.ts";

const any = "*";
/** FlowSchemaMaxMatchingPrecedence */
const maxPrecedence = 10_000;
const maxQueues = 10_000_000;
/** Bits of the hash value of a flow (MaxHashBits). */
const maxHashBits = 60;
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
  // JSON has null for a list that nobody has set.
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

/** Conditions of both kinds: only their types matter. */
function checkConditions(
  errors: FieldErrors,
  conditions: readonly { readonly type?: string }[] | undefined,
): void {
  const seen = new Set<string>();
  (conditions ?? []).forEach(({ type = "" }, index) => {
    const path = `status.conditions[${index}].type`;
    if (seen.has(type)) errors.duplicate(path, asTyped(type));
    seen.add(type);
    if (type === "") errors.required(path);
  });
}

/**
 * Specs of the mandatory objects, by name. Every API server has them, and users cannot change them.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go
 */
export const mandatoryFlowControl = mandatory as unknown as {
  readonly flowSchemas: Readonly<Record<string, FlowSchemaSpec>>;
  readonly priorityLevelConfigurations: Readonly<Record<string, PriorityLevelConfigurationSpec>>;
};
const fixedSchemas = mandatoryFlowControl.flowSchemas;
const fixedLevels = mandatoryFlowControl.priorityLevelConfigurations;

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

export const flowSchema = {
  create: checkFlowSchema,
  update(errors: FieldErrors, object: FlowSchema, old: FlowSchema): void {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkFlowSchema(errors, object);
  },
  status(errors: FieldErrors, object: FlowSchema): void {
    checkConditions(errors, object.status?.conditions);
  },
};

/** Upstream: k8s.io/apiserver/pkg/util/shufflesharding, RequiredEntropyBits */
const entropyBits = (queues: number, handSize: number): number => Math.ceil(Math.log2(queues) * handSize);

function checkQueuing(errors: FieldErrors, path: string, queuing: QueuingConfiguration): void {
  const { queueLengthLimit = 0, queues = 0, handSize = 0 } = queuing;
  if (queueLengthLimit <= 0) errors.invalid(`${path}.queueLengthLimit`, queueLengthLimit, "must be positive");
  if (queues <= 0) errors.invalid(`${path}.queues`, queues, "must be positive");
  else if (queues > maxQueues)
    errors.invalid(`${path}.queues`, queues, `must not be greater than ${maxQueues}`);
  const at = `${path}.handSize`;
  if (handSize <= 0) errors.invalid(at, handSize, "must be positive");
  else if (handSize > queues) errors.invalid(at, handSize, `should not be greater than queues (${queues})`);
  else if (entropyBits(queues, handSize) > maxHashBits) {
    const detail = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`;
    errors.invalid(at, handSize, detail);
  }
}

/** Errors of fields that do not fit the type of their struct: from 1.37 on they come last, and say no more than the path. */
class UnionErrors {
  readonly #errors: FieldErrors;
  readonly #deferred: (() => void)[] = [];

  constructor(errors: FieldErrors) {
    this.#errors = errors;
  }

  forbidden(path: string, detail: string): void {
    this.#add((text) => this.#errors.forbidden(path, text), detail);
  }

  required(path: string, detail: string): void {
    this.#add((text) => this.#errors.required(path, text), detail);
  }

  report(): void {
    for (const add of this.#deferred) add();
  }

  #add(add: (detail: string) => void, detail: string): void {
    if (this.#errors.release < "1.37") add(detail);
    else this.#deferred.push(() => add(""));
  }
}

function checkLimitResponse(
  errors: FieldErrors,
  union: UnionErrors,
  path: string,
  { type = "", queuing }: Partial<LimitResponse>,
): void {
  const at = `${path}.queuing`;
  if (type === "") union.required(`${path}.type`, "");
  else if (type === "Reject") {
    if (queuing) union.forbidden(at, "must be nil if limited.limitResponse.type is not Limited");
  } else if (type === "Queue") {
    if (!queuing) union.required(at, "must not be empty if limited.limitResponse.type is Limited");
    else checkQueuing(errors, at, queuing);
  } else errors.notSupported(`${path}.type`, type, ["Queue", "Reject"]);
}

function checkShares(errors: FieldErrors, path: string, shares: number | undefined): void {
  if ((shares ?? 0) < 0)
    errors.invalid(`${path}.nominalConcurrencyShares`, shares, "must be a non-negative integer");
}

function checkLendable(errors: FieldErrors, path: string, percent: number | undefined): void {
  if (percent !== undefined && percent !== null && (percent < 0 || percent > 100))
    errors.invalid(`${path}.lendablePercent`, percent, "must be between 0 and 100, inclusive");
}

function checkLimited(
  errors: FieldErrors,
  union: UnionErrors,
  limited: LimitedPriorityLevelConfiguration,
): void {
  const path = "spec.limited";
  checkShares(errors, path, limited.nominalConcurrencyShares);
  checkLimitResponse(errors, union, `${path}.limitResponse`, limited.limitResponse ?? {});
  checkLendable(errors, path, limited.lendablePercent);
  const borrowing = limited.borrowingLimitPercent;
  if ((borrowing ?? 0) < 0) {
    const detail = "if specified, must be a non-negative integer";
    errors.invalid(`${path}.borrowingLimitPercent`, borrowing, detail);
  }
}

function checkLevelSpec(
  errors: FieldErrors,
  union: UnionErrors,
  { metadata, spec }: PriorityLevelConfiguration,
): void {
  const { type = "", limited, exempt } = spec ?? {};
  if ((metadata.name === "exempt") !== (type === "Exempt")) {
    const detail = "must be 'Exempt' if and only if `name` is 'exempt'";
    errors.invalid("spec.type", asTyped(type), detail);
  }
  if (type === "") union.required("spec.type", "");
  else if (type === "Exempt") {
    if (limited) union.forbidden("spec.limited", "must be nil if the type is not Limited");
    if (!exempt) return;
    checkShares(errors, "spec.exempt", exempt.nominalConcurrencyShares);
    checkLendable(errors, "spec.exempt", exempt.lendablePercent);
  } else if (type === "Limited") {
    if (exempt) union.forbidden("spec.exempt", "must be nil if the type is Limited");
    if (!limited) union.required("spec.limited", "must not be empty when type is Limited");
    else checkLimited(errors, union, limited);
  } else errors.notSupported("spec.type", type, ["Exempt", "Limited"]);
}

/** An administrator may change the seats of `exempt`, and what it lends; everything else of mandatory objects is fixed. */
function checkFixedLevel(errors: FieldErrors, { metadata, spec }: PriorityLevelConfiguration): void {
  const { name } = metadata;
  const fixed = Object.hasOwn(fixedLevels, name) ? fixedLevels[name] : undefined;
  if (fixed === undefined) return;
  const isExempt = name === "exempt";
  const { exempt: _, ...others } = spec ?? {};
  const { exempt: __, ...fixedOthers } = fixed;
  if (isExempt ? sameValue(others, fixedOthers) : sameValue(spec, fixed)) return;
  const shown = internalForm("flowcontrol/v1.PriorityLevelConfigurationSpec", spec, errors.release);
  const but = isExempt ? " except the 'spec.exempt' field" : "";
  errors.invalid("spec", shown, `spec of '${name}'${but} must equal the fixed value`);
}

const zeroShares = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

function checkPriorityLevel(errors: FieldErrors, object: PriorityLevelConfiguration): void {
  checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors, "metadata", object.metadata);
  if (object.metadata.annotations?.[zeroShares] !== undefined)
    errors.forbidden("metadata.annotations", `annotation '${zeroShares}' is forbidden`);
  const union = new UnionErrors(errors);
  checkLevelSpec(errors, union, object);
  checkFixedLevel(errors, object);
  checkConditions(errors, object.status?.conditions);
  union.report();
}

export const priorityLevelConfiguration = {
  create: checkPriorityLevel,
  update(errors: FieldErrors, object: PriorityLevelConfiguration, old: PriorityLevelConfiguration): void {
    checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
    checkPriorityLevel(errors, object);
  },
  status(errors: FieldErrors, object: PriorityLevelConfiguration): void {
    checkConditions(errors, object.status?.conditions);
  },
};
