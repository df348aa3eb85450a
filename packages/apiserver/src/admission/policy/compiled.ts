import type { ValidatingAdmissionPolicy } from "@dray/api/admissionregistration/v1";
import type { Expression } from "./activation.ts";
import { compileConditions, compileVariables } from "./conditions.ts";
import { Expressions, type ResultKind } from "./expressions.ts";

/** One validation of a policy. */
export interface CompiledValidation extends Expression {
  readonly message: string;
  /** Says what is wrong in words that depend on the request; goes before `message`. */
  readonly messageExpression?: Expression;
  readonly reason: string;
}

/** A policy with its expressions ready to run. */
export interface CompiledPolicy {
  readonly conditions: readonly Expression[];
  readonly variables: ReadonlyMap<string, Expression>;
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly Expression[];
}

const compiled = new WeakMap<ValidatingAdmissionPolicy, CompiledPolicy>();

/** The expressions of a stored policy, compiled once. */
export function compiledPolicy(policy: ValidatingAdmissionPolicy): CompiledPolicy {
  let known = compiled.get(policy);
  if (known === undefined) {
    known = compile(policy);
    compiled.set(policy, known);
  }
  return known;
}

function compile({ spec }: ValidatingAdmissionPolicy): CompiledPolicy {
  const params = spec.paramKind !== undefined;
  const expressions = new Expressions({ composes: true });
  const ready = (text: string, result: ResultKind, authorizer = true): Expression => ({
    text,
    program: expressions.compile(text, { result, params, authorizer }),
  });
  return {
    variables: compileVariables(spec.variables, expressions, params),
    conditions: compileConditions(spec.matchConditions, expressions, params),
    validations: (spec.validations ?? []).map((validation) => ({
      ...ready(validation.expression, "bool"),
      message: (validation.message ?? "").trim(),
      reason: validation.reason ?? "Invalid",
      ...(validation.messageExpression
        ? { messageExpression: ready(validation.messageExpression, "string", false) }
        : {}),
    })),
    auditAnnotations: (spec.auditAnnotations ?? []).map((annotation) =>
      ready(annotation.valueExpression, "string or null"),
    ),
  };
}
