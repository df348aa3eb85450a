import { type KubeObject, StatusError, type StatusReason, statusCodes } from "@dray/api";
import type {
  MatchResources,
  NamedRuleWithOperations,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "@dray/api/admissionregistration/v1";
import { objectKey } from "../../storage/keys.ts";
import { type AdmissionPlugin, type AdmissionRequest, refused } from "../admission.ts";
import { namespaceSelected, objectSelected, ruleMatches } from "../matching.ts";
import type { AdmissionContext } from "../plugins.ts";
import {
  isNamespaces,
  namespaceOf,
  objectsIn,
  otherVersions,
  requestedVersion,
  type VersionedObjects,
  type VersionedResource,
} from "../versions.ts";
import { type Denial, evaluatePolicy } from "./evaluate.ts";
import { ConfigurationError, collectParams, paramResource } from "./params.ts";

/** Policies are not asked about themselves, nor about questions that the cluster needs to work. */
const exempt = new Set([
  "admissionregistration.k8s.io/mutatingadmissionpolicies",
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
  "admissionregistration.k8s.io/validatingadmissionpolicies",
  "admissionregistration.k8s.io/validatingadmissionpolicybindings",
  "authentication.k8s.io/selfsubjectreviews",
  "authentication.k8s.io/tokenreviews",
  "authorization.k8s.io/localsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectrulesreviews",
  "authorization.k8s.io/subjectaccessreviews",
]);

/** Why a request is refused, by which policy and binding. */
interface Refusal extends Denial {
  readonly policy: string;
  readonly binding?: string;
}

/** Rules that the cluster's administrators have written down in CEL (KEP-3488). */
export function validatingAdmissionPolicy(context: AdmissionContext): AdmissionPlugin {
  const bindings = context.storage.cache("validatingadmissionpolicybindings");
  return {
    name: "ValidatingAdmissionPolicy",
    validate(request) {
      if (bindings.size === 0) return;
      if (exempt.has(`${request.served.group}/${request.served.resource}`)) return;
      const byPolicy = new Map<string, ValidatingAdmissionPolicyBinding[]>();
      for (const { object } of bindings.range(bindings.prefix)) {
        const binding = object as ValidatingAdmissionPolicyBinding;
        const name = binding.spec.policyName ?? "";
        byPolicy.set(name, [...(byPolicy.get(name) ?? []), binding]);
      }
      const refusals = [...byPolicy].flatMap(([name, bound]) => {
        const key = objectKey("validatingadmissionpolicies", "", name);
        const policy = context.storage.cache("validatingadmissionpolicies").get(key)?.object;
        if (policy === undefined) return [];
        return new Hook(context, request, policy as ValidatingAdmissionPolicy).apply(bound);
      });
      if (refusals.length > 0) throw denied(request, refusals[0]!);
    },
  };
}

/** One policy and one request. */
class Hook {
  readonly #context: AdmissionContext;
  readonly #request: AdmissionRequest;
  readonly #policy: ValidatingAdmissionPolicy;
  readonly #refusals: Refusal[] = [];
  #objects: VersionedObjects | undefined;

  constructor(context: AdmissionContext, request: AdmissionRequest, policy: ValidatingAdmissionPolicy) {
    this.#context = context;
    this.#request = request;
    this.#policy = policy;
  }

  apply(bindings: readonly ValidatingAdmissionPolicyBinding[]): Refusal[] {
    const { matchConstraints = {}, paramKind } = this.#policy.spec;
    this.#configured(undefined, () => {
      const matched = this.#matches(matchConstraints);
      if (matched === undefined) return;
      const params = paramKind && paramResource(paramKind, this.#context.resources);
      for (const binding of bindings) {
        this.#configured(binding, () => {
          const { matchResources, paramRef } = binding.spec;
          if (matchResources && this.#matches(matchResources) === undefined) return;
          const objects: readonly (KubeObject | undefined)[] =
            params === undefined || paramRef === undefined
              ? [undefined]
              : collectParams(paramRef, params, namespaceOf(this.#request), this.#context.registry());
          for (const object of objects) this.#judge(binding, matched, object);
        });
      }
    });
    return this.#refusals;
  }

  /** A policy or binding that is not set up well refuses what it is about, unless failures are to be ignored. */
  #configured(binding: ValidatingAdmissionPolicyBinding | undefined, apply: () => void): void {
    try {
      apply();
    } catch (error) {
      if (!(error instanceof ConfigurationError || error instanceof StatusError)) throw error;
      if (this.#policy.spec.failurePolicy === "Ignore") return;
      const what = binding === undefined ? "policy" : "binding";
      this.#refuse({ message: `failed to configure ${what}: ${error.message}` }, binding);
    }
  }

  #refuse(denial: Denial, binding: ValidatingAdmissionPolicyBinding | undefined): void {
    this.#refusals.push({
      ...denial,
      policy: this.#policy.metadata.name,
      ...(binding === undefined ? {} : { binding: binding.metadata.name }),
    });
  }

  #judge(
    binding: ValidatingAdmissionPolicyBinding,
    matched: VersionedResource,
    params: KubeObject | undefined,
  ): void {
    const { name } = this.#policy.metadata;
    this.#objects ??= objectsIn(this.#request, matched);
    const input = {
      request: this.#request,
      objects: this.#objects,
      matched,
      params,
      namespace: this.#namespace(),
      authorize: this.#context.authorize,
    };
    for (const denial of evaluatePolicy(this.#policy, input)) {
      const actions = denial.always ? ["Deny"] : (binding.spec.validationActions ?? []);
      if (actions.includes("Deny")) this.#refuse(denial, binding);
      if (actions.includes("Warn")) {
        this.#request.warn(
          `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${binding.metadata.name}': ${denial.message}`,
        );
      }
    }
  }

  #namespace(): KubeObject | undefined {
    const { served, namespace } = this.#request;
    if (namespace === "" || isNamespaces(served)) return undefined;
    return this.#context.storage.cache("namespaces").get(objectKey("namespaces", "", namespace))?.object;
  }

  /** The version in which the request matches; undefined if it does not. Throws StatusError. */
  #matches(match: MatchResources): VersionedResource | undefined {
    const request = this.#request;
    const inNamespace = namespaceSelected(match.namespaceSelector, request, this.#context.storage);
    if (inNamespace === false || !objectSelected(match.objectSelector, request)) return undefined;
    if (this.#version(match.excludeResourceRules, match.matchPolicy) !== undefined) return undefined;
    const rules = match.resourceRules ?? [];
    const version = rules.length === 0 ? requestedVersion(request) : this.#version(rules, match.matchPolicy);
    if (version !== undefined && inNamespace !== true) throw inNamespace;
    return version;
  }

  #version(
    rules: readonly NamedRuleWithOperations[] | undefined,
    matchPolicy: string | undefined,
  ): VersionedResource | undefined {
    const request = this.#request;
    const fits = (rule: NamedRuleWithOperations, version: VersionedResource): boolean =>
      ruleMatches(rule, request, version) &&
      (!rule.resourceNames?.length || rule.resourceNames.includes(request.objectName));
    const asked = requestedVersion(request);
    if (rules?.some((rule) => fits(rule, asked))) return asked;
    if (matchPolicy !== "Equivalent" || !rules?.length) return undefined;
    const others = [...otherVersions(request, this.#context.resources)];
    for (const rule of rules) {
      const version = others.find((other) => fits(rule, other));
      if (version !== undefined) return version;
    }
    return undefined;
  }
}

/** The answer to a request that a policy refuses: of several refusals the first. */
function denied(request: AdmissionRequest, refusal: Refusal): StatusError {
  const { policy, binding, message, reason = "Invalid" } = refusal;
  const by = binding === undefined ? "" : ` with binding '${binding}'`;
  const text = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`;
  const { status } = refused(request, text);
  return new StatusError({
    ...status,
    reason,
    code: statusCodes[reason as StatusReason],
    details: { ...status.details, causes: [{ message: text }] },
  });
}
