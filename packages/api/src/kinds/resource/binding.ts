import { type FieldErrors, seenBefore } from "../../checks/field.ts";
import { qualifiedName } from "../../values/names.ts";
import { limits } from "./names.ts";

interface BindingParameters {
  readonly bindingConditions?: string[];
  readonly bindingFailureConditions?: string[];
}

/** Binding conditions of a device or a result (KEP-5007): both lists or none, without a name twice. */
export function checkBindingConditions(errors: FieldErrors, parameters: BindingParameters): void {
  const { bindingConditions, bindingFailureConditions } = parameters;
  const wanted = bindingConditions ?? [];
  const failures = bindingFailureConditions ?? [];
  const [wantedErrors, failureErrors] = [
    errors.at("bindingConditions"),
    errors.at("bindingFailureConditions"),
  ];
  const printed = (name: keyof BindingParameters): unknown =>
    parameters[name] ?? (errors.provenance.cameEmpty(parameters, name) ? [] : null);
  const check = (here: FieldErrors, name: string): void => here.check(qualifiedName, name);
  wantedErrors.items(wanted, limits.bindingConditions, check);
  failureErrors.items(failures, limits.bindingConditions, check);
  const [ofWanted, ofFailures, all] = [seenBefore(), seenBefore(), new Set(wanted)];
  wanted.forEach((name, index) => {
    if (ofWanted(name)) wantedErrors.index(index).duplicate(name);
  });
  failures.forEach((name, index) => {
    const here = failureErrors.index(index);
    if (ofFailures(name)) here.duplicate(name);
    if (all.has(name)) {
      here.invalid(name, "bindingFailureConditions must not overlap with bindingConditions");
    }
  });
  if (wanted.length === 0 && failures.length > 0) {
    const detail = "bindingConditions are required to use bindingFailureConditions";
    wantedErrors.invalid(printed("bindingConditions"), detail);
  }
  if (failures.length === 0 && wanted.length > 0) {
    const detail = "bindingFailureConditions are required to use bindingConditions";
    failureErrors.invalid(printed("bindingFailureConditions"), detail);
  }
}
