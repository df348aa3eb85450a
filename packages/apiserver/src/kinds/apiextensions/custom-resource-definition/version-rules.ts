import type { CustomResourceColumnDefinition, CustomResourceSubresources } from "@dray/api/apiextensions/v1";
import type { FieldErrors } from "@dray/api/validation";
import type { Version } from "./types.ts";

/** Validates the deprecation warning of a version. */
export function checkDeprecation(errors: FieldErrors, version: Version): void {
  const { deprecated, deprecationWarning: warning } = version;
  if (warning === undefined) return;
  const fail = (detail: string): void => errors.at("deprecationWarning").invalid(warning, detail);
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
  columns: readonly CustomResourceColumnDefinition[] | undefined,
): void {
  columns?.forEach((column, index) => {
    const here = errors.index(index);
    const oneOf = `must be one of ${columnTypes.join(",")}`;
    if (!column.name) here.at("name").required();
    if (!column.type) here.at("type").required(oneOf);
    else if (!columnTypes.includes(column.type)) here.at("type").invalid(column.type, oneOf);
    if (column.format && !columnFormats.includes(column.format)) {
      here.at("format").invalid(column.format, `must be one of ${columnFormats.join(",")}`);
    }
    if (!column.jsonPath) here.at("JSONPath").required();
    else checkDotPath(here.at("JSONPath"), column.jsonPath);
  });
}

/** Validates a path of names behind dots; true if it is valid. */
function checkDotPath(errors: FieldErrors, value: string): boolean {
  if (value.startsWith(".")) return true;
  errors.invalid(value, "must be a simple json path starting with .");
  return false;
}

export function checkSubresources(
  errors: FieldErrors,
  subresources: CustomResourceSubresources | undefined,
): void {
  const scale = subresources?.scale;
  if (scale === undefined) return;
  const check = (field: string, value: string, roots: readonly string[], shown: string): void => {
    const here = errors.at("scale").at(field);
    if (!checkDotPath(here, value)) return;
    if (roots.some((root) => value.startsWith(root))) return;
    here.invalid(value, `should be a json path under ${shown}`);
  };
  if (!scale.specReplicasPath) errors.at("scale.specReplicasPath").required();
  else check("specReplicasPath", scale.specReplicasPath, [".spec."], ".spec");
  if (!scale.statusReplicasPath) errors.at("scale.statusReplicasPath").required();
  else check("statusReplicasPath", scale.statusReplicasPath, [".status."], ".status");
  if (scale.labelSelectorPath) {
    check("labelSelectorPath", scale.labelSelectorPath, [".spec.", ".status."], "either .spec or .status");
  }
}
