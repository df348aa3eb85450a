import type { ValidationContext } from "../checks/context.ts";
import type { FieldErrors } from "../checks/field.ts";
import type { Provenance } from "../codec/provenance.ts";
import type { Kind, KubeObject, Time } from "../objects/object.ts";
import type { Wire } from "../objects/wire.ts";
import type { QuotaEvaluator, QuotaLookup, QuotaOptions } from "./quota-evaluator.ts";

/** Input of defaults besides the object. */
export interface DefaultsContext {
  /** The server's time, for the fields that default to it: the `timeAdded` of device taints. */
  readonly now: Time;
  /** The release whose defaults apply. */
  readonly release: string;
  /** Provenance of the object; absent if it did not come over the wire. */
  readonly provenance?: Provenance | undefined;
}

/** Methods, not function types: the registry holds the rules of every T as rules of KubeObject. */
interface DefaultsOf<T extends KubeObject> {
  set(object: Wire<T>, context: DefaultsContext): void;
}

/** Fills in the fields that are unset, in place. */
export type SetDefaults<T extends KubeObject> = DefaultsOf<T>["set"];

interface Checks<T extends KubeObject> {
  update(errors: FieldErrors, object: T, old: T, context: ValidationContext): void;
}

type CheckUpdate<T extends KubeObject> = Checks<T>["update"];

/** Validation as in kube-apiserver. Objects are in the server's storage version, with defaults set. */
export interface KindValidation<T extends KubeObject> {
  create(errors: FieldErrors, object: T, context: ValidationContext): void;
  /** Absent: the kind is never stored. */
  update?(errors: FieldErrors, object: T, old: T, context: ValidationContext): void;
  /** Absent: only the metadata is checked. */
  status?(errors: FieldErrors, object: T, old: T, context: ValidationContext): void;
  /** By the name of the subresource. Absent: the rules of an update hold. */
  readonly subresources?: Readonly<Record<string, CheckUpdate<T>>>;
}

/** The rules of a kind that need no server. A kind for which one is absent has none of that sort. */
export interface KindRules<T extends KubeObject> {
  /** For all versions but those of `versionDefaults`. */
  defaults?: SetDefaults<T>;
  /** By version: for those whose fields are not those of T. */
  readonly versionDefaults?: Readonly<Record<string, SetDefaults<KubeObject>>>;
  /** Absent: only the metadata is checked. */
  readonly validation?: KindValidation<T>;
  /** Warnings about a valid object: the strategy's WarningsOnCreate (no `old`) and WarningsOnUpdate. */
  warnings?(object: T, old: T | undefined): string[];
  /** Warnings about a valid write of `status`. */
  statusWarnings?(object: T): string[];
  /** Quota evaluator of the kind. Absent: each object counts as one. `false`: not counted. */
  readonly quota?: false | ((lookup: QuotaLookup, options: QuotaOptions) => QuotaEvaluator);
}

/** A kind with its rules. */
export interface KindDefinition<T extends KubeObject = KubeObject> extends KindRules<T> {
  /** Address of the kind in one of its versions. */
  readonly type: Kind<T>;
}

/**
 * Defines a kind by its rules. T is the type of its objects in the version in which the server stores them.
 */
export function defineKind<T extends KubeObject>(
  type: Kind<T>,
  rules: KindRules<NoInfer<T>>,
): KindDefinition<T> {
  return { ...rules, type };
}
