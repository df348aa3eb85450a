import type { FieldErrors } from "../../checks/field.ts";
import { byteLength, qualifiedName } from "../../values/names.ts";

export const limits = { parameters: 512, bytes: 256 * 1024, nodeId: 192, error: 1024 } as const;

export function checkProvisioner(errors: FieldErrors, name: string | undefined): void {
  if (!name) errors.required();
  else for (const problem of qualifiedName(name.toLowerCase())) errors.invalid(name.toLowerCase(), problem);
}

export function checkParameters(
  errors: FieldErrors,
  parameters: Readonly<Record<string, string>> | undefined,
  mayBeEmpty: boolean,
): void {
  const entries = Object.entries(parameters ?? {});
  if (entries.length > limits.parameters) errors.at("parameters").tooLong(limits.parameters);
  let size = 0;
  for (const [key, value] of entries) {
    if (key === "") errors.at("parameters").invalid(key, "field can not be empty.");
    size += byteLength(key) + byteLength(value);
  }
  if (size > limits.bytes) errors.at("parameters").tooLong(limits.bytes);
  if (!mayBeEmpty && entries.length === 0)
    errors.at("parameters").required("must contain at least one key/value pair");
}
