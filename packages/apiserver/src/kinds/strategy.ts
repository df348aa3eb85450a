import type { Features, FieldError, KubeObject } from "@dray/api";
import type { UserInfo } from "@dray/client";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { DeleteOptions } from "../request/options.ts";
import type { Storage } from "../storage/storage.ts";

/** The request, as a strategy sees it. */
export interface StrategyContext {
  /** "" for the object itself. */
  readonly subresource: string;
  readonly user: UserInfo;
  /** `create`, `update`, `patch`. */
  readonly verb: string;
  /** Nothing of what the request leads to is kept. */
  readonly dryRun: boolean;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly features: Features;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  readonly newId: () => string;
  readonly storage: Storage;
  /** Adds a text to the Warning headers of the answer. */
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
 * What is particular about one resource. Objects are in their stored version; the first argument of
 * `prepare...` is a draft that may be changed, all else is frozen. A resource without a strategy follows the
 * general rules.
 */
export interface Strategy<T extends KubeObject = KubeObject> {
  /** After defaults, before validation. */
  prepareForCreate?(object: T, context: StrategyContext): void;
  /** For updates of the object and of its subresources (see `context.subresource`). */
  prepareForUpdate?(object: T, old: T, context: StrategyContext): void;
  /** Defaults that an object gets when it is read: what is stored has them as if it had been read. */
  complete?(object: T): void;
  /** Rights that depend on what is changed; before validation. */
  authorizeUpdate?(object: T, old: T, context: StrategyContext): readonly FieldError[];
  /** Rules besides those of the shape and of @dray/api. */
  validateCreate?(object: T, context: StrategyContext): readonly FieldError[];
  validateUpdate?(object: T, old: T, context: StrategyContext): readonly FieldError[];
  /** What a valid object is warned of; without `old` it is a new one. */
  warnings?(object: T, old: T | undefined): readonly string[];
  /** Seconds until the object goes; absent or undefined: it goes at once. */
  gracePeriod?(object: T, options: DeleteOptions, context: StrategyContext): number | undefined;
  /**
   * Right before the object is stored under its key: takes what only one object may have, and may replace it
   * in the object. Throws StatusError.
   */
  reserve?(key: string, object: T): Reservation | Promise<Reservation>;
  /** The object has been removed from the store. */
  afterDelete?(object: T): Promise<void>;
  /** Seconds after which a new object vanishes by itself. */
  ttl?(object: T): number | undefined;
  /** Whether an object that is being deleted must stay although its metadata has no finalizers. */
  heldBack?(object: T): boolean;
  /** What becomes of dependents if a DELETE does not say so; "delete" if absent. */
  readonly garbageCollection?: GarbageCollection;
  /** What a DELETE with these options is warned of. */
  warnOfDeletion?(options: DeleteOptions): readonly string[];
  /** Marks a draft in the kind's own way, at its first DELETE. */
  beginDeletion?(object: T, options: DeleteOptions, context: StrategyContext): "mark";
}
