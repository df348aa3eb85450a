import type { FieldError, KubeObject, StatusError, Wire } from "@dray/api";
import type { DecodedBody, RawBody } from "@dray/api/codec";
import type { DefaultsContext } from "@dray/api/defaults";
import type { CustomSchema } from "@dray/api/openapi";
import type { ValidationContext } from "@dray/api/validation";
import type { ObjectType } from "../patch/index.ts";
import type { Printer } from "../tables/column.ts";
import type { Strategy } from "./strategy.ts";

/** A kind in one version, with an optional model of its own. */
export interface ModelledKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly model?: ResourceModel;
}

/** A conversion by another server: the webhook of a custom resource. */
export interface OutsideConversion {
  /** Converts stored objects to a version, for `convert` to use. Throws StatusError. */
  prepare(objects: readonly KubeObject[], to: ModelledKind): Promise<void>;
  /** Returns an object in the version in which it is stored. Throws StatusError. */
  toStored(object: KubeObject): Promise<KubeObject>;
}

/** The result of the validation of an update. */
export interface UpdateFindings {
  readonly errors: readonly FieldError[];
  /** Violations that the old object has too: they are warnings. */
  readonly tolerated: readonly string[];
}

/**
 * Rules of a kind in one version, in addition to its names and facts. Built-in kinds take them from the
 * schema table (`models.ts`), custom ones from their definition (`customresources/model.ts`).
 */
export interface ResourceModel {
  /** The apiVersion of new writes; absent if it never changes. */
  readonly storedAs?: string;
  /**
   * Decodes a body; returns its known fields and reports the unknown ones. `release`: the one whose fields
   * are known. `keepsNulls`: keeps invalid nulls, for validation to reject them. Throws 400 and 422.
   */
  decode(raw: RawBody, release: string | undefined, keepsNulls?: boolean): DecodedBody;
  /**
   * Returns the error for a patch that changes the kind or version. Absent: the patched object is decoded as
   * a body.
   */
  otherKind?(tree: Readonly<Record<string, unknown>>): StatusError;
  /** Sets the defaults, in place. */
  setDefaults(object: Wire<KubeObject>, context: DefaultsContext): void;
  /** Returns the object in another version or in its stored form; shares parts with the original. */
  convert(object: KubeObject, to: ModelledKind): KubeObject;
  /** Set if another server converts versions: `convert` then only knows prepared objects. */
  readonly conversion?: OutsideConversion | undefined;
  /** Type by which patches and server-side apply merge objects. */
  readonly objectType: ObjectType;
  validateCreate(object: KubeObject, context: ValidationContext): readonly FieldError[];
  validateUpdate(
    object: KubeObject,
    old: KubeObject,
    subresource: string,
    context: ValidationContext,
  ): UpdateFindings;
  /** Returns the warnings for a valid object; `old` is undefined for a new one. */
  warnings(object: KubeObject, old: KubeObject | undefined, subresource: string): readonly string[];
  /** Strategy of a custom kind; built-in kinds have theirs in their definition. */
  readonly strategy?: Strategy;
  /** Printer of its tables. */
  readonly printer: Printer<KubeObject>;
  /** Its OpenAPI schema if it is not in the schema table. */
  readonly openAPI?: CustomSchema;
}
