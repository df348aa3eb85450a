import type { ValidatingAdmissionPolicy } from "@dray/api/admissionregistration/v1";
import {
  Activation,
  type ActivationInput,
  type Evaluated,
  type Expression,
  OutOfBudget,
  validationBudget,
} from "./activation.ts";
import { type CompiledValidation, compiledPolicy } from "./compiled.ts";
import { conditionsMet } from "./conditions.ts";

/** Denial of a request by a policy; without a reason if the policy could not be evaluated. */
export interface Denial {
  readonly message: string;
  readonly reason?: string;
  /** Denies regardless of the binding's validationActions: an audit annotation failed. */
  readonly always?: true;
}

/** Maximum bytes of the message of an expression (MaxEvaluatedMessageExpressionSizeBytes). */
const maxMessageLength = 5 * 1024;

/**
 * Evaluates a policy with one parameter object. Returns its denials.
 */
export function evaluatePolicy(policy: ValidatingAdmissionPolicy, input: ActivationInput): Denial[] {
  const fails = policy.spec.failurePolicy !== "Ignore";
  const failed = (message: string): Denial[] => (fails ? [{ message }] : []);
  const { conditions, variables, validations, auditAnnotations } = compiledPolicy(policy);
  const met = conditionsMet(conditions, { ...input, variables }, policy.spec.failurePolicy);
  if ("error" in met) return failed(met.error);
  if (!met.matches) return [];
  const denials: Denial[] = [];
  try {
    const activation = new Activation({ ...input, variables }, validationBudget);
    const results = validations.map((validation) => activation.evaluate(validation));
    const messages = evaluateMessages(validations, { ...input, variables }, activation.budget);
    results.forEach(({ value, error }, i) => {
      if (error !== undefined) for (const each of failed(error)) denials.push(each);
      else if ("error" in messages)
        for (const each of failed(`failed messageExpression: ${messages.error}`)) denials.push(each);
      else if (value !== true) {
        const validation = validations[i]!;
        denials.push({ message: messageOf(validation, messages.texts[i]), reason: validation.reason });
      }
    });
    const annotated = { ...input, variables, withoutAuthorizer: true };
    const annotations = new Activation(annotated, validationBudget);
    for (const annotation of auditAnnotations)
      for (const each of annotate(annotation, annotations, fails)) denials.push(each);
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return failed(error.message);
  }
  return denials;
}

type Messages =
  | { readonly texts: readonly (Evaluated | undefined)[] }
  /** The cost limit is exceeded. */
  | { readonly error: string };

function evaluateMessages(
  validations: readonly CompiledValidation[],
  input: ActivationInput,
  budget: number,
): Messages {
  const activation = new Activation(input, budget);
  try {
    return {
      texts: validations.map(({ messageExpression }) =>
        messageExpression === undefined ? undefined : activation.evaluate(messageExpression),
      ),
    };
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return { error: error.message };
  }
}

/** Returns the first non-empty one of messageExpression, message and the expression, on one line. */
function messageOf(validation: CompiledValidation, made: Evaluated | undefined): string {
  const text = typeof made?.value === "string" ? made.value.trim() : "";
  if (text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= maxMessageLength) return text;
  return validation.message || `failed expression: ${validation.text.trim()}`;
}

/** Evaluates audit annotations for their errors only: there is no audit log. */
function annotate(annotation: Expression, activation: Activation, fails: boolean): Denial[] {
  const { error } = activation.evaluate(annotation);
  return error === undefined || !fails ? [] : [{ message: error, always: true }];
}
