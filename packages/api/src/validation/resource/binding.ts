import { qualifiedName } from "../../names.ts";
import type { FieldErrors } from "../field.ts";
import { limits } from "./names.ts";

interface BindingParameters {
  readonly bindingConditions?: string[];
  readonly bindingFailureConditions?: string[];
}

/** Binding conditions of a device or a result (KEP-5007): both lists or none, without a name twice. */
export function checkBindingConditions(
  errors: FieldErrors,
  path: string,
  parameters: BindingParameters,
): void {
  const { bindingConditions, bindingFailureConditions } = parameters;
  const wanted = bindingConditions ?? [];
  const failures = bindingFailureConditions ?? [];
  const [wantedPath, failurePath] = [`${path}.bindingConditions`, `${path}.bindingFailureConditions`];
  const check = (name: string, at: string): void => errors.check(qualifiedName, at, name);
  errors.items(wantedPath, wanted, limits.bindingConditions, check);
  errors.items(failurePath, failures, limits.bindingConditions, check);
  wanted.forEach((name, index) => {
    if (wanted.indexOf(name) < index) errors.duplicate(`${wantedPath}[${index}]`, name);
  });
  failures.forEach((name, index) => {
    const at = `${failurePath}[${index}]`;
    if (failures.indexOf(name) < index) errors.duplicate(at, name);
    if (wanted.includes(name)) {
      errors.invalid(at, name, "bindingFailureConditions must not overlap with bindingConditions");
    }
  });
  if (wanted.length === 0 && failures.length > 0) {
    const detail = "bindingConditions are required to use bindingFailureConditions";
    errors.invalid(wantedPath, bindingConditions ?? null, detail);
  }
  if (failures.length === 0 && wanted.length > 0) {
    const detail = "bindingFailureConditions are required to use bindingConditions";
    errors.invalid(failurePath, bindingFailureConditions ?? null, detail);
  }
}
