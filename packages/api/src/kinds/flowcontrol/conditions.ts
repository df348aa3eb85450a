import { asTyped, type FieldErrors } from "../../checks/field.ts";

/** Conditions of both kinds: only their types matter. */
export function checkConditions(
  errors: FieldErrors,
  conditions: readonly { readonly type?: string }[] | undefined,
): void {
  const seen = new Set<string>();
  (conditions ?? []).forEach(({ type = "" }, index) => {
    const path = `status.conditions[${index}].type`;
    if (seen.has(type)) errors.duplicate(path, asTyped(type));
    seen.add(type);
    if (type === "") errors.required(path);
  });
}
