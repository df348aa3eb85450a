import type { ValidationContext } from "../../checks/context.ts";
import type { FieldErrors } from "../../checks/field.ts";
import type { DeviceSelector } from "../../generated/resource/v1.ts";
import { byteLength } from "../../values/names.ts";
import { limits } from "./names.ts";

/** Returns the estimated cost of an expression that compiles, 0 of another. */
export function checkExpression(
  errors: FieldErrors,
  expression: string,
  context: ValidationContext,
  derivedAttribute = false,
): bigint {
  if (byteLength(expression) > limits.expression) {
    // Not compiled: what is too long to be stored is too long to be read.
    errors.tooLong(limits.expression);
    return 0n;
  }
  const compiled = context.compileSelector(expression, derivedAttribute);
  if (compiled.ok) {
    if (compiled.maxCost > limits.expressionCost) errors.forbidden("too complex, exceeds cost limit");
    return BigInt(compiled.maxCost);
  }
  if (compiled.type === "InternalError") errors.internal(compiled.error);
  else errors.invalid(expression, compiled.error);
  return 0n;
}

/** Selectors of a request or a class; expressions that are stored already are not compiled again. */
export function checkSelectors(
  errors: FieldErrors,
  selectors: readonly DeviceSelector[] | undefined,
  context: ValidationContext,
  stored = false,
): void {
  errors.items(selectors, limits.selectors, (here, { cel }) => {
    if (!cel) here.at("cel").required();
    else if (!stored) checkExpression(here.at("cel.expression"), cel.expression ?? "", context);
  });
}
