import { type KubeObject, StatusError } from "@dray/api";
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "@dray/api/admissionregistration/v1";
import type { ResourceCache } from "../../storage/cache.ts";
import { objectKey } from "../../storage/keys.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { isNamespaces, namespaceOf, type VersionedResource } from "../versions.ts";
import { matchedVersion } from "./match-resources.ts";
import { ConfigurationError, collectParams, paramResource } from "./params.ts";

/**
 * Resources that policies never see: policies themselves, and the reviews that authentication and RBAC need.
 */
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

export function isExempt({ served }: AdmissionRequest): boolean {
  return exempt.has(`${served.group}/${served.resource}`);
}

/** The two kinds of policies and their bindings, by resource. */
interface Kinds {
  readonly validatingadmissionpolicies: [ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding];
  readonly mutatingadmissionpolicies: [MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding];
}

const bindingsOf = {
  validatingadmissionpolicies: "validatingadmissionpolicybindings",
  mutatingadmissionpolicies: "mutatingadmissionpolicybindings",
} as const;

/** A policy that matches a request, with one of its bindings and one parameter object. */
export interface Invocation<K extends keyof Kinds> {
  readonly policy: Kinds[K][0];
  readonly binding: Kinds[K][1];
  /** The version that the rules of the policy name. */
  readonly matched: VersionedResource;
  /** In the version of paramKind. */
  readonly params: KubeObject | undefined;
  readonly problem?: undefined;
}

/** A policy, or one of its bindings, that cannot be applied. */
export interface Misconfiguration<K extends keyof Kinds> {
  readonly policy: Kinds[K][0];
  readonly binding?: Kinds[K][1];
  /** `failed to configure binding: …` */
  readonly problem: string;
}

/**
 * Yields the policies that match a request, by name of policy, then of binding; upstream's order is random.
 * Skips misconfigurations if the failure policy is Ignore. Upstream:
 * pkg/admission/plugin/policy/generic/policy_dispatcher.go, Dispatch
 */
export function* findInvocations<K extends keyof Kinds>(
  policies: BoundPolicies<K>,
  request: AdmissionRequest,
  context: AdmissionContext,
): Generator<Invocation<K> | Misconfiguration<K>> {
  for (const [policy, bindings] of policies.entries()) {
    const ignores = policy.spec.failurePolicy === "Ignore";
    for (const found of new Finder<K>(request, context, policy).find(bindings))
      if (found.problem === undefined || !ignores) yield found;
  }
}

/** The stored policies with their bindings, by name of policy, then of binding. */
export class BoundPolicies<K extends keyof Kinds> {
  readonly #policies: ResourceCache;
  readonly #bindings: ResourceCache;
  readonly #resource: K;
  /** Memo; dropped when a binding changes. */
  #byPolicy: ReadonlyMap<string, readonly Kinds[K][1][]> | undefined;

  constructor(resource: K, storage: Storage) {
    this.#resource = resource;
    this.#policies = storage.cache(resource);
    this.#bindings = storage.cache(bindingsOf[resource]);
    this.#bindings.subscribe(() => {
      this.#byPolicy = undefined;
    });
  }

  get isEmpty(): boolean {
    return this.#bindings.size === 0;
  }

  /** Skips bindings whose policy does not exist. */
  *entries(): Generator<[Kinds[K][0], readonly Kinds[K][1][]]> {
    this.#byPolicy ??= this.#grouped();
    for (const [name, bindings] of this.#byPolicy) {
      const policy = this.#policies.get(objectKey(this.#resource, "", name))?.object;
      if (policy !== undefined) yield [policy as Kinds[K][0], bindings];
    }
  }

  #grouped(): ReadonlyMap<string, readonly Kinds[K][1][]> {
    const bindings = [...this.#bindings.range(this.#bindings.prefix)].map(
      ({ object }) => object as Kinds[K][1],
    );
    const byPolicy = Map.groupBy(bindings, ({ spec }) => spec.policyName ?? "");
    return new Map([...byPolicy].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Finds the invocations of one policy for one request. */
class Finder<K extends keyof Kinds> {
  readonly #request: AdmissionRequest;
  readonly #context: AdmissionContext;
  readonly #policy: Kinds[K][0];

  constructor(request: AdmissionRequest, context: AdmissionContext, policy: Kinds[K][0]) {
    this.#request = request;
    this.#context = context;
    this.#policy = policy;
  }

  *find(bindings: readonly Kinds[K][1][]): Generator<Invocation<K> | Misconfiguration<K>> {
    const policy = this.#policy;
    const { matchConstraints = {}, paramKind } = policy.spec;
    const configured = configure("policy", () => {
      const matched = matchedVersion(matchConstraints, this.#request, this.#context);
      if (matched === undefined) return undefined;
      return { matched, served: paramKind && paramResource(paramKind, this.#context.resources) };
    });
    if (typeof configured === "string") yield { policy, problem: configured };
    else if (configured !== undefined) {
      for (const binding of bindings) yield* this.#bound(binding, configured);
    }
  }

  *#bound(
    binding: Kinds[K][1],
    { matched, served }: { matched: VersionedResource; served: ReturnType<typeof paramResource> | undefined },
  ): Generator<Invocation<K> | Misconfiguration<K>> {
    const policy = this.#policy;
    const params = configure("binding", (): readonly (KubeObject | undefined)[] => {
      const { matchResources, paramRef } = binding.spec;
      if (matchResources && matchedVersion(matchResources, this.#request, this.#context) === undefined)
        return [];
      if (served === undefined || paramRef === undefined) return [undefined];
      return collectParams(paramRef, served, namespaceOf(this.#request), this.#context.reader);
    });
    if (typeof params === "string") yield { policy, binding, problem: params };
    else for (const object of params) yield { policy, binding, matched, params: object };
  }
}

/** Returns the result of `find`, or the text of a misconfiguration. */
function configure<T>(what: "policy" | "binding", find: () => T): T | string {
  try {
    return find();
  } catch (error) {
    if (!(error instanceof ConfigurationError || error instanceof StatusError)) throw error;
    return `failed to configure ${what}: ${error.message}`;
  }
}

/** The value of `namespaceObject`; undefined for cluster-scoped objects and namespaces. */
export function namespaceObject(
  { served, namespace }: AdmissionRequest,
  { storage }: AdmissionContext,
): KubeObject | undefined {
  if (namespace === "" || isNamespaces(served)) return undefined;
  return storage.cache("namespaces").get(objectKey("namespaces", "", namespace))?.object;
}
