import { dns1035Label, pathSegment } from "@dray/api";
import { DecodeError, decodeAs } from "@dray/api/codec";
import type { ObjectMeta } from "@dray/api/meta/v1";
import { checkMetadata, type FieldErrors } from "@dray/api/validation";
import {
  child,
  fieldOf,
  isContainer,
  isEmbedded,
  isPlain,
  itemsOf,
  keyed,
  namesFields,
  type Plain,
  propertyOf,
  type Schema,
} from "./schema.ts";

/** The error of invalid metadata, kind or version. */
export class MetadataError extends Error {
  readonly path: string;
  readonly value: unknown;
  constructor(path: string, value: unknown, message: string) {
    super(message);
    this.path = path;
    this.value = value;
  }
}

export interface CoerceOptions {
  /** Drops malformed values instead of failing. */
  readonly dropMalformed: boolean;
}

/**
 * Coerces the metadata of an object to ObjectMeta, in place; returns the paths of unknown fields. Throws
 * MetadataError.
 */
export function coerceMetadata(object: Plain, path: string, options: CoerceOptions): string[] {
  if (!Object.hasOwn(object, "metadata")) return [];
  const { metadata } = object;
  const where = child(path, "metadata");
  try {
    const decoded = decodeAs(metadata ?? {}, "meta/v1.ObjectMeta");
    object["metadata"] = decoded.object;
    return decoded.problems.map((problem) => `${where}.${problem.replace(/^\w+ field "(.*)"$/, "$1")}`);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (!options.dropMalformed || !isPlain(metadata)) throw new MetadataError(where, metadata, error.message);
  }
  const kept: Plain = {};
  for (const [key, value] of Object.entries(metadata)) {
    try {
      decodeAs({ [key]: value }, "meta/v1.ObjectMeta");
      kept[key] = value;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  object["metadata"] = kept;
  return coerceMetadata(object, path, options);
}

/** The same for resources that are embedded in an object (`x-kubernetes-embedded-resource`). */
export function coerceEmbedded(
  value: unknown,
  schema: Schema | undefined,
  path: string,
  options: CoerceOptions,
): string[] {
  if (schema === undefined) return [];
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items === undefined) return [];
    return value.flatMap((item, index) =>
      isContainer(item) ? coerceEmbedded(item, items, `${path}[${index}]`, options) : [],
    );
  }
  if (!isPlain(value)) return [];
  const unknown: string[] = [];
  if (isEmbedded(schema)) {
    for (const key of ["apiVersion", "kind"]) {
      if (!Object.hasOwn(value, key) || typeof value[key] === "string") continue;
      if (!options.dropMalformed) throw new MetadataError(child(path, key), value[key], "must be a string");
      delete value[key];
    }
    for (const each of coerceMetadata(value, path, options)) unknown.push(each);
  }
  if (!namesFields(schema)) return unknown;
  for (const key in value) {
    if (!isContainer(value[key])) continue;
    const where = propertyOf(schema, key) === undefined ? keyed(path, key) : child(path, key);
    for (const each of coerceEmbedded(value[key], fieldOf(schema, key), where, options)) unknown.push(each);
  }
  return unknown;
}

/** Validates an embedded resource: it has a kind, a version, and valid metadata. */
export function checkEmbedded(errors: FieldErrors, schema: Schema | undefined, value: unknown): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items === undefined) return;
    value.forEach((item, index) => {
      if (isContainer(item)) checkEmbedded(errors.index(index), items, item);
    });
    return;
  }
  if (!isPlain(value)) return;
  if (isEmbedded(schema)) checkResource(errors, value);
  if (!namesFields(schema)) return;
  for (const key in value) {
    if (!isContainer(value[key])) continue;
    const here = propertyOf(schema, key) === undefined ? errors.key(key) : errors.at(key);
    checkEmbedded(here, fieldOf(schema, key), value[key]);
  }
}

function checkResource(errors: FieldErrors, object: Plain): void {
  for (const key of ["apiVersion", "kind"] as const) {
    const here = errors.at(key);
    if (!Object.hasOwn(object, key)) {
      here.required();
      continue;
    }
    const value = object[key];
    if (typeof value !== "string") here.invalid(value, "must be a string");
    else if (value === "") here.invalid(value, "must not be empty");
    else if (key === "apiVersion") {
      if (value.split("/").length > 2) {
        here.invalid(value, `unexpected GroupVersion string: ${value}`);
      }
    } else {
      const problems = dns1035Label(value.toLowerCase());
      if (problems.length > 0) {
        here.invalid(value, `may have mixed case, but should otherwise match: ${problems.join(",")}`);
      }
    }
  }
  if (!Object.hasOwn(object, "metadata") || !isPlain(object["metadata"])) return;
  const metadata = object["metadata"] as ObjectMeta;
  const named = metadata.name ? metadata : { ...metadata, name: "fakename" };
  checkMetadata(errors.at("metadata"), named, pathSegment, Boolean(metadata.namespace));
}
