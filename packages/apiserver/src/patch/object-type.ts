import type { FieldSet } from "./field-set.ts";
import type { TypeSchema } from "./type-schema.ts";

/** A type as patches need it: its schema, and the zero value of its objects. */
export interface ObjectType {
  /** `v1`, `apps/v1` */
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: TypeSchema;
  /**
   * The JSON of an unset object: fields that are serialized even if zero, of structs that are not pointers.
   */
  readonly zero: { readonly [key: string]: unknown };
  /**
   * Fields that a write to the object ("") or a subresource cannot own; if absent, those of built-in kinds.
   */
  readonly unowned?: Readonly<Record<string, FieldSet>>;
  /**
   * The same kind in another version, for entries of managedFields of that version. Undefined if that version
   * is not served (any more): such entries are dropped, as upstream. Absent: one version only.
   */
  readonly inVersion?: (apiVersion: string) => OtherVersion | undefined;
}

/** Another version of a kind, and the conversion to it and back. */
export interface OtherVersion {
  readonly type: ObjectType;
  readonly to: (object: { readonly [key: string]: unknown }) => { readonly [key: string]: unknown };
  readonly from: (object: { readonly [key: string]: unknown }) => { readonly [key: string]: unknown };
}
