import type { ValidationContext } from "../../checks/context.ts";
import type { FieldErrors } from "../../checks/field.ts";
import type { DeviceSelector } from "../../generated/resource/v1.ts";
import { byteLength } from "../../values/names.ts";
import { limits } from "./names.ts";

/** Returns the estimated cost of an expression that compiles, 0 of another. */
export function checkExpression(
  errors: FieldErrors,
  path: string,
  expression: string,
  context: ValidationContext,
  derivedAttribute = false,
): bigint {
  if (byteLength(expression) > limits.expression) {
    // Not compiled: what is too long to be stored is too long to be read.
    errors.tooLong(path, limits.expression);
    return 0n;
  }
  const compiled = context.compileSelector(expression, derivedAttribute);
  if (compiled.ok) {
    if (compiled.maxCost > limits.expressionCost) errors.forbidden(path, "too complex, exceeds cost limit");
    return BigInt(compiled.maxCost);
  }
  if (compiled.type === "InternalError") errors.internal(path, compiled.error);
  else errors.invalid(path, expression, compiled.error);
  return 0n;
}

/** Selectors of a request or a class; expressions that are stored already are not compiled again. */
export function checkSelectors(
  errors: FieldErrors,
  path: string,
  selectors: readonly DeviceSelector[] | undefined,
  context: ValidationContext,
  stored = false,
): void {
  errors.items(path, selectors, limits.selectors, ({ cel }, at) => {
    if (!cel) errors.required(`${at}.cel`);
    else if (!stored) checkExpression(errors, `${at}.cel.expression`, cel.expression ?? "", context);
  });
}
