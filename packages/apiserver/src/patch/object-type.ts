import type { FieldSet } from "./field-set.ts";
import type { TypeSchema } from "./type-schema.ts";

/** A type as patches meet it: its schema and what an object holds before anyone has written it. */
export interface ObjectType {
  /** `v1`, `apps/v1` */
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: TypeSchema;
  /** The JSON of an unset object: fields that are written even if zero, of structs that are no pointers. */
  readonly zero: { readonly [key: string]: unknown };
  /** Fields that a write to the object ("") or a subresource cannot own; left out: those of built-in kinds. */
  readonly unowned?: Readonly<Record<string, FieldSet>>;
  /**
   * The same kind in another version, for entries of managedFields that were written there. Undefined where that
   * version is not served (any more): such entries are dropped, as upstream does. Left out: one version only.
   */
  readonly inVersion?: (apiVersion: string) => OtherVersion | undefined;
}

/** Another version of a kind and the way there and back. */
export interface OtherVersion {
  readonly type: ObjectType;
  readonly to: (object: { readonly [key: string]: unknown }) => { readonly [key: string]: unknown };
  readonly from: (object: { readonly [key: string]: unknown }) => { readonly [key: string]: unknown };
}
