import { deepFreeze } from "../objects/deep-freeze.ts";
import {
  type Field,
  type FieldType,
  isRequired,
  kindOf,
  type StructType,
  structType,
} from "../schema/types.ts";
import { zeroOf } from "./written.ts";

/**
 * Removes the nulls of a value; returns the value itself if it has none. Never throws. `isOwned`: changes the
 * value instead of a copy.
 */
type Cleaner = (value: object, isOwned: boolean) => object;

/** Memo of copies, so that clients in the process of the server share them as they share the originals. */
const copies = new WeakMap<object, object>();
const cleaners = new WeakMap<StructType, Cleaner>();
const cleanersByKind = new Map<string, Cleaner>();

/**
 * Returns the object as Go reads it: a field that is null is absent; one that the generated type requires has
 * its zero value if it is null or absent; a null element of a list or map is zero. Go writes null for each
 * nil slice, map or pointer without `omitempty`, and any client may write null for any field. Raw JSON
 * (`any`, RawExtension), in which null is a value, is unchanged; of kinds without a schema, only metadata
 * changes. Returns the object itself if it has no null; the copy of a frozen object is frozen.
 *
 * Upstream: encoding/json, Unmarshal: null has no effect on a slice, map, pointer or scalar.
 */
export function withoutNulls<T extends object>(object: T, fallback: TypeMeta): T {
  const copy = copies.get(object);
  if (copy !== undefined) return copy as T;
  const cleaned = cleanerFor(object, fallback)(object, false);
  if (cleaned !== object && Object.isFrozen(object)) copies.set(object, deepFreeze(cleaned));
  return cleaned as T;
}

/** As `withoutNulls`, but changes the object, which the caller owns and which is not frozen. */
export function removeNulls(object: object, fallback: TypeMeta): void {
  cleanerFor(object, fallback)(object, true);
}

/** As an object has them. */
interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Items of a list lack kind and apiVersion. */
function cleanerFor(object: object, fallback: TypeMeta): Cleaner {
  const { apiVersion, kind } = object as Partial<TypeMeta>;
  const isTyped = typeof apiVersion === "string" && typeof kind === "string";
  return isTyped ? cleanerOf(apiVersion, kind) : cleanerOf(fallback.apiVersion, fallback.kind);
}

function cleanerOf(apiVersion: string, kind: string): Cleaner {
  const key = `${apiVersion}/${kind}`;
  let cleaner = cleanersByKind.get(key);
  if (cleaner === undefined) {
    const slash = apiVersion.indexOf("/");
    const row = kindOf(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind);
    const name = row?.type ?? (kind === "Status" && apiVersion === "v1" ? "meta/v1.Status" : undefined);
    cleaner =
      name === undefined
        ? fieldsCleaner(new Map([["metadata", metadataPart()]]), false)
        : structCleaner(structType(name));
    cleanersByKind.set(key, cleaner);
  }
  return cleaner;
}

function metadataPart(): Part {
  const type: FieldType = { form: "struct", struct: structType("meta/v1.ObjectMeta") };
  return { isTimeless: true, clean: cleanerOfType(type), zero: (isOwned) => emptyOf(type, isOwned) };
}

/** How a field is read. */
interface Part {
  /** It belongs to every release: other servers have not left it out because they do not know it. */
  readonly isTimeless: boolean;
  /** Absent for scalars and raw JSON. */
  readonly clean: Cleaner | undefined;
  /** In place of null; undefined: the field is absent. */
  readonly zero: ((isOwned: boolean) => unknown) | undefined;
}

function structCleaner(struct: StructType): Cleaner {
  let cleaner = cleaners.get(struct);
  if (cleaner === undefined) {
    // Types may contain themselves: fields are resolved at the first object.
    let resolved: Cleaner | undefined;
    cleaner = (value, isOwned) => {
      resolved ??= fieldsCleaner(
        new Map([...struct.fields.values()].map((field) => [field.name, partOf(field, struct)])),
        true,
      );
      return resolved(value, isOwned);
    };
    cleaners.set(struct, cleaner);
  }
  return cleaner;
}

function partOf(field: Field, { typed }: StructType): Part {
  // Every kind has metadata (`KubeObject`), which the table marks as optional.
  const isNeeded = isRequired(field) || (typed && field.name === "metadata");
  const { since, until } = field.marks;
  return {
    isTimeless: since === undefined && until === undefined,
    clean: cleanerOfType(field.type),
    zero: isNeeded ? (isOwned) => emptyOf(field.type, isOwned) : undefined,
  };
}

/** `isWhole`: null has no meaning in fields that are not listed either (those of a newer release). */
function fieldsCleaner(parts: ReadonlyMap<string, Part>, isWhole: boolean): Cleaner {
  const required = isWhole
    ? [...parts].filter(([, { zero, isTimeless }]) => zero !== undefined && isTimeless)
    : [];
  return (value, isOwned) => {
    if (Array.isArray(value)) return value;
    const fields = value as Record<string, unknown>;
    let copy: Record<string, unknown> | undefined;
    for (const name in fields) {
      const field = fields[name];
      if (typeof field !== "object") continue;
      const part = parts.get(name);
      if (field === null) {
        if (part === undefined && !isWhole) continue;
        const zero = part?.zero?.(isOwned);
        copy ??= isOwned ? fields : { ...fields };
        if (zero === undefined) delete copy[name];
        else copy[name] = zero;
        continue;
      }
      if (part?.clean === undefined) continue;
      const cleaned = part.clean(field, isOwned);
      if (cleaned === field) continue;
      copy ??= isOwned ? fields : { ...fields };
      copy[name] = cleaned;
    }
    for (const [name, { zero }] of required) {
      if (fields[name] !== undefined || (copy !== undefined && copy[name] !== undefined)) continue;
      const empty = zero?.(isOwned);
      if (empty === undefined) continue;
      copy ??= isOwned ? fields : { ...fields };
      copy[name] = empty;
    }
    return copy ?? value;
  };
}

function cleanerOfType(type: FieldType): Cleaner | undefined {
  if (type.form === "scalar") return undefined;
  if (type.form === "struct") {
    const { anyJSON, alternatives } = type.struct;
    return anyJSON || alternatives !== undefined ? undefined : structCleaner(type.struct);
  }
  const element = type.form === "list" ? type.element : type.value;
  if (isRaw(element)) return undefined;
  const clean = cleanerOfType(element);
  return type.form === "list" ? listCleaner(element, clean) : mapCleaner(element, clean);
}

function listCleaner(element: FieldType, clean: Cleaner | undefined): Cleaner {
  return (value, isOwned) => {
    if (!Array.isArray(value)) return value;
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index];
      if (typeof item !== "object") continue;
      const cleaned = item === null ? emptyOf(element, isOwned) : (clean?.(item, isOwned) ?? item);
      if (cleaned === item) continue;
      copy ??= isOwned ? value : [...value];
      copy[index] = cleaned;
    }
    return copy ?? value;
  };
}

function mapCleaner(element: FieldType, clean: Cleaner | undefined): Cleaner {
  return (value, isOwned) => {
    if (Array.isArray(value)) return value;
    const map = value as Record<string, unknown>;
    let copy: Record<string, unknown> | undefined;
    for (const key in map) {
      const item = map[key];
      if (typeof item !== "object") continue;
      const cleaned = item === null ? emptyOf(element, isOwned) : (clean?.(item, isOwned) ?? item);
      if (cleaned === item) continue;
      copy ??= isOwned ? map : { ...map };
      // `__proto__` is a legal key.
      Object.defineProperty(copy, key, {
        value: cleaned,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return copy ?? value;
  };
}

/** JSON of any form, in which null is a value. */
function isRaw(type: FieldType): boolean {
  if (type.form === "scalar")
    return type.name === "any" || type.name === "RawExtension" || type.name === "FieldsV1";
  return type.form === "struct" && (type.struct.anyJSON || type.struct.alternatives !== undefined);
}

const zeroTime = "0001-01-01T00:00:00Z";

/** The zero value of a type without null in it; undefined for raw JSON. It is frozen if it is not owned. */
function emptyOf(type: FieldType, isOwned: boolean): unknown {
  if (isRaw(type)) return undefined;
  if (type.form === "scalar") {
    if (type.name === "bytes") return "";
    return type.name === "Time" || type.name === "MicroTime" ? zeroTime : zeroOf(type);
  }
  const empty = type.form === "list" ? [] : type.form === "map" ? {} : emptyStruct(type.struct);
  return isOwned ? empty : deepFreeze(empty);
}

function emptyStruct(struct: StructType): object {
  const zero = zeroOf({ form: "struct", struct });
  return structCleaner(struct)(zero as object, true);
}
