import type { MatchCondition, Variable } from "@dray/api/admissionregistration/v1";
import {
  Activation,
  type ActivationInput,
  conditionBudget,
  type Expression,
  OutOfBudget,
} from "./activation.ts";
import type { Expressions } from "./expressions.ts";

/** Compiles match conditions; what is wrong with one shows when it is evaluated. */
export function compileConditions(
  conditions: readonly MatchCondition[] | undefined,
  expressions: Expressions,
  params: boolean,
): Expression[] {
  return (conditions ?? []).map(({ expression }) => ({
    text: expression,
    program: expressions.compile(expression, { result: "bool", params, authorizer: true }),
  }));
}

/** Compiles the variables of a policy, by name; each may use those before it. */
export function compileVariables(
  variables: readonly Variable[] | undefined,
  expressions: Expressions,
  params: boolean,
): Map<string, Expression> {
  return new Map(
    (variables ?? []).map(({ name, expression }) => [
      name,
      { text: expression, program: expressions.variable(name, expression, { params }) },
    ]),
  );
}

/**
 * Whether all conditions hold; else why that is not known (one false condition outweighs errors of others).
 */
export type ConditionsMet = { readonly matches: boolean } | { readonly error: string };

/**
 * Evaluates match conditions (KEP-3716): they see no namespaceObject, and `request.resource` is the one that
 * was asked for. With failure policy Ignore an error means that they do not match.
 */
export function conditionsMet(
  conditions: readonly Expression[],
  input: ActivationInput,
  failurePolicy: string | undefined,
): ConditionsMet {
  if (conditions.length === 0) return { matches: true };
  const activation = new Activation({ ...input, namespace: undefined }, conditionBudget);
  const errors: string[] = [];
  try {
    const results = conditions.map((condition) => activation.evaluate(condition));
    for (const { value, error } of results) {
      if (error !== undefined) errors.push(error);
      else if (value === false) return { matches: false };
    }
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    errors.push(error.message);
  }
  if (errors.length === 0) return { matches: true };
  if (failurePolicy === "Ignore") return { matches: false };
  const distinct = [...new Set(errors)];
  return { error: distinct.length === 1 ? distinct[0]! : `[${distinct.join(", ")}]` };
}
