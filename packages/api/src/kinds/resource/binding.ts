import { type FieldErrors, seenBefore } from "../../checks/field.ts";
import { cameEmpty } from "../../codec/empty.ts";
import { qualifiedName } from "../../values/names.ts";
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
  const printed = (name: keyof BindingParameters): unknown =>
    parameters[name] ?? (cameEmpty(parameters, name) ? [] : null);
  const check = (name: string, at: string): void => errors.check(qualifiedName, at, name);
  errors.items(wantedPath, wanted, limits.bindingConditions, check);
  errors.items(failurePath, failures, limits.bindingConditions, check);
  const [ofWanted, ofFailures, all] = [seenBefore(), seenBefore(), new Set(wanted)];
  wanted.forEach((name, index) => {
    if (ofWanted(name)) errors.duplicate(`${wantedPath}[${index}]`, name);
  });
  failures.forEach((name, index) => {
    const at = `${failurePath}[${index}]`;
    if (ofFailures(name)) errors.duplicate(at, name);
    if (all.has(name)) {
      errors.invalid(at, name, "bindingFailureConditions must not overlap with bindingConditions");
    }
  });
  if (wanted.length === 0 && failures.length > 0) {
    const detail = "bindingConditions are required to use bindingFailureConditions";
    errors.invalid(wantedPath, printed("bindingConditions"), detail);
  }
  if (failures.length === 0 && wanted.length > 0) {
    const detail = "bindingFailureConditions are required to use bindingConditions";
    errors.invalid(failurePath, printed("bindingFailureConditions"), detail);
  }
}
