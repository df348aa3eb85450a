import type { IntOrString } from "../objects/object.ts";
import { isPercent } from "../values/names.ts";
import type { FieldErrors } from "./field.ts";

/** A number, or a share in percent. */
export function checkShare(errors: FieldErrors, value: IntOrString | undefined): void {
  if (typeof value !== "string") errors.notNegative(value);
  else errors.check(isPercent, value);
}

const shareOf = (value: IntOrString | undefined): number | undefined =>
  typeof value === "string" && isPercent(value).length === 0 ? Number.parseInt(value, 10) : undefined;

export function checkAtMostAll(errors: FieldErrors, value: IntOrString | undefined): void {
  if ((shareOf(value) ?? 0) > 100) errors.invalid(value, "must not be greater than 100%");
}

/** Numeric value of a number or a percentage; 0 if the text is invalid. */
export function amountOf(value: IntOrString | undefined): number {
  return typeof value === "number" ? value : (shareOf(value) ?? (Number(value ?? 0) || 0));
}
