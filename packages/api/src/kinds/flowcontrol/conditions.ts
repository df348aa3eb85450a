import { asTyped, type FieldErrors } from "../../checks/field.ts";

/** Conditions of both kinds: only their types matter. */
export function checkConditions(
  errors: FieldErrors,
  conditions: readonly { readonly type?: string }[] | undefined,
): void {
  const seen = new Set<string>();
  (conditions ?? []).forEach(({ type = "" }, index) => {
    const here = errors.at("status.conditions").index(index).at("type");
    if (seen.has(type)) here.duplicate(asTyped(type));
    seen.add(type);
    if (type === "") here.required();
  });
}
