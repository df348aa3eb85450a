import type { CustomResourceSubresourceScale } from "@dray/api/apiextensions/v1";
import type { FieldErrors } from "@dray/api/validation";
import { goText, goType } from "../json/go-text.ts";
import type { ScalePaths } from "../kinds/resources.ts";
import { isPlain, type Plain } from "../structural-schemas/schema.ts";

export function scalePaths(scale: CustomResourceSubresourceScale): ScalePaths {
  return {
    spec: scale.specReplicasPath,
    status: scale.statusReplicasPath,
    ...(scale.labelSelectorPath ? { selector: scale.labelSelectorPath } : {}),
  };
}

/** Returns the names of a path `.spec.replicas`. */
export const namesOf = (path: string): string[] => path.replace(/^\./, "").split(".");

/** Returns the value at a path; an error if a value on the way is not an object. */
export function valueAt(object: Plain, path: string): { readonly value?: unknown; readonly error?: string } {
  let value: unknown = object;
  const names = namesOf(path);
  for (const [index, name] of names.entries()) {
    if (!isPlain(value)) {
      const where = `.${names.slice(0, index).join(".")}`;
      const found = value === null ? "<nil>" : goType(value);
      return {
        error: `${where}.${name} accessor error: ${goText(value)} is of the type ${found}, expected map[string]interface{}`,
      };
    }
    if (!Object.hasOwn(value, name)) return {};
    value = value[name];
  }
  return { value };
}

/** Validates the types of the numbers and the selector of the scale. */
export function checkScaled(errors: FieldErrors, paths: ScalePaths, object: Plain, withSpec: boolean): void {
  if (withSpec) checkReplicas(errors, paths.spec, object);
  checkReplicas(errors, paths.status, object);
  if (paths.selector === undefined) return;
  const { value, error } = valueAt(object, paths.selector);
  const wrong =
    error ??
    (value === undefined || typeof value === "string"
      ? undefined
      : wrongType(paths.selector, value, "string"));
  if (wrong !== undefined) errors.at(paths.selector).invalid("", wrong);
}

function checkReplicas(errors: FieldErrors, path: string, object: Plain): void {
  const { value, error } = valueAt(object, path);
  const here = errors.at(path);
  if (error !== undefined) here.invalid(0, error);
  else if (value === undefined) return;
  else if (typeof value !== "bigint" && !Number.isInteger(value)) {
    here.invalid(0, wrongType(path, value, "int64"));
  } else if ((value as number) < 0) here.invalid(value, "should be a non-negative integer");
  else if ((value as number) > 2 ** 31 - 1) {
    here.invalid(value, `should be less than or equal to ${2 ** 31 - 1}`);
  }
}

const wrongType = (path: string, value: unknown, expected: string): string =>
  `${path.startsWith(".") ? path : `.${path}`} accessor error: ${goText(value)} is of the type ${value === null ? "<nil>" : goType(value)}, expected ${expected}`;
