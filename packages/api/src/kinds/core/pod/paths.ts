import type { FieldErrors } from "../../../checks/field.ts";

export function checkBackSteps(errors: FieldErrors, value: string): void {
  if (value.split("/").includes("..")) errors.invalid(value, "must not contain '..'");
}

/** A path below the place at hand. */
export function checkLocalPath(errors: FieldErrors, value: string): void {
  if (value.startsWith("/")) errors.invalid(value, "must be a relative path");
  checkBackSteps(errors, value);
}

/** As `checkLocalPath`; names that begin with two dots are the kubelet's own. */
export function checkFreePath(errors: FieldErrors, value: string): void {
  checkLocalPath(errors, value);
  if (value.startsWith("..") && !value.startsWith("../")) {
    errors.invalid(value, "must not start with '..'");
  }
}

/** Mode bits of a file. */
export function checkMode(errors: FieldErrors, mode: number | undefined): void {
  if (mode === undefined || mode === null || (mode >= 0 && mode <= 0o777)) return;
  errors.invalid(mode, "must be a number between 0 and 0777 (octal), both inclusive");
}
