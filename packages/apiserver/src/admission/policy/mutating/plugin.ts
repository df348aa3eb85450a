import { quoted, StatusError } from "@dray/api";
import { notFound } from "../../../errors/status.ts";
import { type AdmissionPlugin, type AdmissionRequest, type Rounds, refused } from "../../admission.ts";
import type { AdmissionContext } from "../../context.ts";
import { Reinvocations } from "../../reinvocations.ts";
import { isNamespaces, objectsIn } from "../../versions.ts";
import type { ActivationInput } from "../activation.ts";
import { conditionsMet } from "../conditions.ts";
import {
  BoundPolicies,
  findInvocations,
  type Invocation,
  isExempt,
  namespaceObject,
} from "../invocations.ts";
import { compiledMutatingPolicy } from "./compiled.ts";
import { MutationError, mutate } from "./mutate.ts";

type MutatingInvocation = Invocation<"mutatingadmissionpolicies">;

/** A failure of a policy that denies the request. */
interface Failure {
  readonly message: string;
  readonly reason: "Forbidden" | "Invalid";
}

/**
 * Applies MutatingAdmissionPolicies (KEP-3962).
 * Upstream: pkg/admission/plugin/policy/mutating/dispatcher.go
 */
export function mutatingAdmissionPolicy(context: AdmissionContext): AdmissionPlugin {
  if (!context.features.enabled("MutatingAdmissionPolicy")) return {};
  const policies = new BoundPolicies("mutatingadmissionpolicies", context.storage);
  const plugin: AdmissionPlugin = {
    mutate(request, rounds) {
      if (policies.isEmpty || request.operation === "DELETE" || isExempt(request)) return;
      const found = [...findInvocations(policies, request, context)];
      const invocations = found.filter((each) => each.problem === undefined);
      const failures = found
        .filter((each) => each.problem !== undefined)
        .map(({ policy, binding, problem }) =>
          failure(policy.metadata.name, binding?.metadata.name, problem),
        );
      if (invocations.length > 0) {
        const state = rounds.state(plugin, () => new Reinvocations());
        const round = new Round(context, request, rounds, state);
        for (const each of round.run(invocations)) failures.push(each);
      }
      if (failures.length > 0) throw denied(request, failures);
    },
  };
  return plugin;
}

/** One round over all policies that match a request. */
class Round {
  readonly #context: AdmissionContext;
  readonly #request: AdmissionRequest;
  readonly #rounds: Rounds;
  readonly #reinvocations: Reinvocations;
  readonly #failures: Failure[] = [];
  /** Whether a mutation was applied, even without a change. */
  #isApplied = false;

  constructor(
    context: AdmissionContext,
    request: AdmissionRequest,
    rounds: Rounds,
    reinvocations: Reinvocations,
  ) {
    this.#context = context;
    this.#request = request;
    this.#rounds = rounds;
    this.#reinvocations = reinvocations;
  }

  /** Throws StatusError for errors that no failure policy covers. */
  run(invocations: readonly MutatingInvocation[]): readonly Failure[] {
    const namespace = this.#namespace();
    this.#reinvocations.begin(this.#request, this.#rounds);
    for (const invocation of invocations) this.#invoke(invocation, namespace);
    // Upstream takes every patched object for changed, so the last policies run again, too.
    if (this.#isApplied) this.#changed();
    this.#reinvocations.end(this.#request);
    return this.#failures;
  }

  #namespace(): ActivationInput["namespace"] {
    const found = namespaceObject(this.#request, this.#context);
    const { namespace, served } = this.#request;
    if (found !== undefined || namespace === "" || isNamespaces(served)) return found;
    throw notFound({ group: "", resource: "namespaces" }, namespace);
  }

  #invoke(invocation: MutatingInvocation, namespace: ActivationInput["namespace"]): void {
    const { policy, matched, params } = invocation;
    const { conditions, variables } = compiledMutatingPolicy(policy);
    const request = this.#request;
    const input = { request, matched, params, namespace, variables, authorize: this.#context.authorize };
    const objects = objectsIn(request, matched);
    const met = conditionsMet(conditions, { ...input, objects }, policy.spec.failurePolicy);
    if ("error" in met) this.#fail(invocation, met.error);
    if ("error" in met || !met.matches) return;
    const id = idOf(invocation);
    if (this.#rounds.second && !this.#reinvocations.isWanted(id)) return;
    if (this.#mutate(invocation, input)) this.#changed();
    if (policy.spec.reinvocationPolicy === "IfNeeded") this.#reinvocations.invoked(id);
  }

  /**
   * Applies the mutations in order, also those after a failed one. Returns whether any changed the object.
   */
  #mutate(invocation: MutatingInvocation, input: Omit<ActivationInput, "objects">): boolean {
    if (this.#request.object === undefined) return false;
    let isChanged = false;
    for (const mutation of compiledMutatingPolicy(invocation.policy).mutations) {
      try {
        isChanged = mutate(mutation, input, this.#context.reader) || isChanged;
        this.#isApplied = true;
      } catch (error) {
        if (!(error instanceof MutationError)) throw error;
        this.#fail(invocation, error.message);
      }
    }
    return isChanged;
  }

  #changed(): void {
    this.#reinvocations.changed();
    this.#rounds.wantsSecond = true;
  }

  #fail({ policy, binding }: MutatingInvocation, message: string): void {
    if (policy.spec.failurePolicy === "Ignore") return;
    this.#failures.push(failure(policy.metadata.name, binding.metadata.name, message, "Invalid"));
  }
}

/** Unique per policy, binding and parameter object. */
function idOf({ policy, binding, params }: MutatingInvocation): string {
  const { name = "", namespace = "" } = params?.metadata ?? {};
  return [policy.metadata.name, binding.metadata.name, namespace, name].join("/");
}

function failure(
  policy: string,
  binding: string | undefined,
  message: string,
  reason: Failure["reason"] = "Forbidden",
): Failure {
  const by =
    binding === undefined ? `policy ${quoted(policy)}` : `policy '${policy}' with binding '${binding}'`;
  return { message: `${by} denied request: ${message}`, reason };
}

/** The error for a request: the first failure, with all failures as causes. */
function denied(request: AdmissionRequest, failures: readonly Failure[]): StatusError {
  const { status } = refused(request, "");
  const { message, reason } = failures[0]!;
  const causes = failures.map((each) => ({ message: each.message }));
  return new StatusError({ ...status, message, reason, details: { ...status.details, causes } });
}
