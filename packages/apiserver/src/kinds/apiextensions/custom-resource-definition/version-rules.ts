import type { CustomResourceColumnDefinition, CustomResourceSubresources } from "@dray/api/apiextensions/v1";
import type { FieldErrors } from "@dray/api/validation";
import type { Version } from "./types.ts";

/** Validates the deprecation warning of a version. */
export function checkDeprecation(errors: FieldErrors, path: string, version: Version): void {
  const { deprecated, deprecationWarning: warning } = version;
  if (warning === undefined) return;
  const fail = (detail: string): void => errors.invalid(`${path}.deprecationWarning`, warning, detail);
  if (!deprecated) {
    fail("can only be set for deprecated versions");
    return;
  }
  if (Buffer.byteLength(warning) > 256) fail("must be <= 256 characters long");
  if (warning === "") fail("must not be an empty string");
  const match = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(warning);
  if (match !== null) {
    const index = Buffer.byteLength(warning.slice(0, match.index));
    fail(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`);
  }
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

export function checkColumns(
  errors: FieldErrors,
  path: string,
  columns: readonly CustomResourceColumnDefinition[] | undefined,
): void {
  columns?.forEach((column, index) => {
    const where = `${path}[${index}]`;
    const oneOf = `must be one of ${columnTypes.join(",")}`;
    if (!column.name) errors.required(`${where}.name`);
    if (!column.type) errors.required(`${where}.type`, oneOf);
    else if (!columnTypes.includes(column.type)) errors.invalid(`${where}.type`, column.type, oneOf);
    if (column.format && !columnFormats.includes(column.format)) {
      errors.invalid(`${where}.format`, column.format, `must be one of ${columnFormats.join(",")}`);
    }
    if (!column.jsonPath) errors.required(`${where}.JSONPath`);
    else checkDotPath(errors, `${where}.JSONPath`, column.jsonPath);
  });
}

/** Validates a path of names behind dots; true if it is valid. */
function checkDotPath(errors: FieldErrors, path: string, value: string): boolean {
  if (value.startsWith(".")) return true;
  errors.invalid(path, value, "must be a simple json path starting with .");
  return false;
}

export function checkSubresources(
  errors: FieldErrors,
  path: string,
  subresources: CustomResourceSubresources | undefined,
): void {
  const scale = subresources?.scale;
  if (scale === undefined) return;
  const check = (field: string, value: string, roots: readonly string[], where: string): void => {
    const at = `${path}.scale.${field}`;
    if (!checkDotPath(errors, at, value)) return;
    if (roots.some((root) => value.startsWith(root))) return;
    errors.invalid(at, value, `should be a json path under ${where}`);
  };
  if (!scale.specReplicasPath) errors.required(`${path}.scale.specReplicasPath`);
  else check("specReplicasPath", scale.specReplicasPath, [".spec."], ".spec");
  if (!scale.statusReplicasPath) errors.required(`${path}.scale.statusReplicasPath`);
  else check("statusReplicasPath", scale.statusReplicasPath, [".status."], ".status");
  if (scale.labelSelectorPath) {
    check("labelSelectorPath", scale.labelSelectorPath, [".spec.", ".status."], "either .spec or .status");
  }
}
