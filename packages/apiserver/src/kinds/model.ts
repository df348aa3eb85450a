import type { FieldError, KubeObject, StatusError } from "@dray/api";
import type { DecodedBody, RawBody } from "@dray/api/codec";
import type { CustomSchema } from "@dray/api/openapi";
import type { ValidationContext } from "@dray/api/validation";
import type { ObjectType } from "../patch/index.ts";
import type { Printer } from "../tables/column.ts";
import type { Strategy } from "./strategy.ts";

/** A kind in one version; it may bring its model along. */
export interface ModelledKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly model?: ResourceModel;
}

/** A conversion that takes a question to somebody else: the webhook of a custom resource. */
export interface OutsideConversion {
  /** Converts objects as they are stored to a version, so that `convert` has them. Throws StatusError. */
  prepare(objects: readonly KubeObject[], to: ModelledKind): Promise<void>;
  /** Returns an object in the version in which it is stored. Throws StatusError. */
  toStored(object: KubeObject): Promise<KubeObject>;
}

/**
 * What the server must know of a kind in one version, beyond its names and facts. Built-in kinds take it from
 * the schema table (`models.ts`), custom ones from their definition (`customresources/model.ts`).
 */
export interface ResourceModel {
  /** The apiVersion in which objects are written from now on; absent where it never changes. */
  readonly storedAs?: string;
  /**
   * The fields of a body, and those that are not known. Throws 400 and 422. `release`: whose fields are
   * known. `keepsNulls`: nulls where none may be stay, for validation to refuse them.
   */
  decode(raw: RawBody, release: string | undefined, keepsNulls?: boolean): DecodedBody;
  /**
   * The error for a patch that changes the kind or version; absent: the patched object is decoded as a body.
   */
  otherKind?(tree: Readonly<Record<string, unknown>>): StatusError;
  /** Fills in the defaults of a release (the newest if absent), in place; `now` in RFC 3339. */
  setDefaults(object: KubeObject, now: string, release?: string): void;
  /** The same object in another version, or in the form in which it is stored; shares what it can. */
  convert(object: KubeObject, to: ModelledKind): KubeObject;
  /** Set where versions are converted outside of this server: `convert` then has only what was prepared. */
  readonly conversion?: OutsideConversion | undefined;
  /** How patches, server-side apply among them, merge it. */
  readonly objectType: ObjectType;
  validateCreate(object: KubeObject, context: ValidationContext): readonly FieldError[];
  validateUpdate(
    object: KubeObject,
    old: KubeObject,
    subresource: string,
    context: ValidationContext,
  ): readonly FieldError[];
  /** What the last validation of an object found wrong, and let be: it was so before. */
  tolerated?(object: KubeObject): readonly string[];
  /** What a valid object is warned of; without `old` it is a new one. */
  warnings(object: KubeObject, old: KubeObject | undefined, subresource: string): readonly string[];
  /** What is particular about it; built-in kinds have theirs in their definition. */
  readonly strategy?: Strategy;
  /** How tables show it. */
  readonly printer: Printer<KubeObject>;
  /** Its OpenAPI schema where the schema table has none. */
  readonly openAPI?: CustomSchema;
}
