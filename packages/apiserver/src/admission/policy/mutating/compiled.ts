import type { MutatingAdmissionPolicy, Mutation } from "@dray/api/admissionregistration/v1";
import type { Expression } from "../activation.ts";
import { compileConditions, compileVariables } from "../conditions.ts";
import { Expressions } from "../expressions.ts";

/** One mutation of a policy. */
export interface CompiledMutation extends Expression {
  readonly patchType: "ApplyConfiguration" | "JSONPatch";
}

/** A policy with its expressions ready to run. */
export interface CompiledMutatingPolicy {
  readonly conditions: readonly Expression[];
  readonly variables: ReadonlyMap<string, Expression>;
  readonly mutations: readonly CompiledMutation[];
}

const compiled = new WeakMap<MutatingAdmissionPolicy, CompiledMutatingPolicy>();

/** The expressions of a stored policy, compiled once. */
export function compiledMutatingPolicy(policy: MutatingAdmissionPolicy): CompiledMutatingPolicy {
  let known = compiled.get(policy);
  if (known === undefined) {
    known = compile(policy);
    compiled.set(policy, known);
  }
  return known;
}

/** Upstream: pkg/admission/plugin/policy/mutating/compilation.go, compilePolicy */
function compile({ spec }: MutatingAdmissionPolicy): CompiledMutatingPolicy {
  const params = spec.paramKind !== undefined;
  const expressions = new Expressions({ composes: true });
  return {
    variables: compileVariables(spec.variables, expressions, params),
    conditions: compileConditions(spec.matchConditions, expressions, params),
    mutations: (spec.mutations ?? []).flatMap((mutation) => {
      const [patchType, text] = expressionOf(mutation);
      if (text === undefined) return [];
      const result = patchType === "JSONPatch" ? "patches" : "object";
      const options = { result, params, authorizer: true, patchTypes: true } as const;
      return [{ patchType, text, program: expressions.compile(text, options) }];
    }),
  };
}

function expressionOf({
  patchType,
  jsonPatch,
  applyConfiguration,
}: Mutation): [CompiledMutation["patchType"], string | undefined] {
  return patchType === "JSONPatch"
    ? ["JSONPatch", jsonPatch?.expression]
    : ["ApplyConfiguration", applyConfiguration?.expression];
}
