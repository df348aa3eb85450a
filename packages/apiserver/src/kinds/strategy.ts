import type { Features, FieldError, KubeObject, Provenance } from "@dray/api";
import type { UserInfo } from "@dray/client";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { DeleteOptions } from "../request/options.ts";
import type { Step } from "../request/pieces.ts";
import type { Storage } from "../storage/storage.ts";

/** Unique values of an object that the server chose, and may replace before the write. */
export interface ChosenValues {
  readonly addresses: Set<string>;
  readonly ports: Set<number>;
}

/** The request, as a strategy sees it. */
export interface StrategyContext {
  /** "" for the object itself. */
  readonly subresource: string;
  readonly user: UserInfo;
  /** `create`, `update`, `patch`. */
  readonly verb: string;
  /** Dry run: no change is stored. */
  readonly dryRun: boolean;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly features: Features;
  /** Provenance of the object. */
  readonly provenance: Provenance;
  readonly chosen: ChosenValues;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  readonly newId: () => string;
  readonly storage: Storage;
  /** Adds a text to the Warning headers of the response. */
  readonly warn: (text: string) => void;
}

/** `unsupported`: the kind has no dependents, the garbage collector's finalizers are dropped. */
export type GarbageCollection = "delete" | "orphan" | "unsupported";

/**
 * Unique values that a write has reserved, such as addresses, ports and devices. Exactly one method is
 * called, once.
 */
export interface Reservation {
  /** The object has been stored. */
  commit(): void | Promise<void>;
  /** The object has not been stored. */
  release(): void | Promise<void>;
  /** The store has failed: whether the object has been stored is not known yet. `release` if absent. */
  fail?(): void | Promise<void>;
}

/**
 * Rules of one resource. Objects are in their stored version; the first argument of `prepare...` is a draft
 * that may be changed, all others are frozen. A resource without a strategy follows the general rules.
 */
export interface Strategy<T extends KubeObject = KubeObject> {
  /** After defaults, before validation. */
  prepareForCreate?(object: T, context: StrategyContext): void;
  /** For updates of the object and of its subresources (see `context.subresource`). */
  prepareForUpdate?(object: T, old: T, context: StrategyContext): void;
  /** Sets defaults on reads: stored objects have them as if they had been read before. */
  complete?(object: T): void;
  /** Checks permissions that depend on the change; before validation. */
  authorizeUpdate?(object: T, old: T, context: StrategyContext): readonly FieldError[];
  /** Validates rules that are not in the schema or in @dray/api, in steps if it takes long. */
  validateCreate?(object: T, context: StrategyContext, step: Step): readonly FieldError[];
  validateUpdate?(object: T, old: T, context: StrategyContext, step: Step): readonly FieldError[];
  /** Returns the warnings for a valid object; `old` is undefined for a new one. */
  warnings?(object: T, old: T | undefined): readonly string[];
  /** Returns the seconds until the object is removed; absent or undefined: at once. */
  gracePeriod?(object: T, options: DeleteOptions, context: StrategyContext): number | undefined;
  /**
   * Reserves the unique values of an object right before it is stored under its key, and may replace them in
   * the object. Throws StatusError.
   */
  reserve?(key: string, object: T, context: StrategyContext): Reservation | Promise<Reservation>;
  /** The object has been removed from the store. */
  afterDelete?(object: T): Promise<void>;
  /** Returns the seconds after which a new object expires. */
  ttl?(object: T): number | undefined;
  /** Reports whether an object that is being deleted must stay although its metadata has no finalizers. */
  heldBack?(object: T): boolean;
  /** Deletion of dependents if the DELETE does not specify it; "delete" if absent. */
  readonly garbageCollection?: GarbageCollection;
  /** Returns the warnings for a DELETE with these options. */
  warnOfDeletion?(options: DeleteOptions): readonly string[];
  /** Marks a draft in the kind's own way, at its first DELETE. */
  beginDeletion?(object: T, options: DeleteOptions, context: StrategyContext): "mark";
}
