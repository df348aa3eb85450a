import type { Kind, KubeObject, Provenance, Wire } from "@dray/api";
import type { Printer } from "../tables/column.ts";
import type { ServiceAllocator } from "./core/service/allocator.ts";
import type { ResourceFacts } from "./facts.ts";
import type { Strategy } from "./strategy.ts";

/** A group and version. */
export interface ApiVersion {
  readonly group: string;
  readonly version: string;
}

/** Parts of the server that strategies use. */
export interface StrategyParts {
  readonly serviceAllocator: ServiceAllocator;
}

/** Rules of the API server for a kind, in addition to those of @dray/api. */
export interface ServedKindRules<T extends KubeObject> {
  /** Absent: the kind is not a resource, only a body of requests to subresources. */
  readonly facts?: ResourceFacts;
  /** Normalizes a decoded object in place, before defaults and validation. */
  normalise?(object: Wire<T>): void;
  /** Absent: the general rules apply. */
  readonly strategy?: Strategy<T>;
  /** A strategy that needs parts of the server. */
  strategyOf?(parts: StrategyParts): Strategy<T>;
  /** How Tables show objects of the stored version. Absent: name and age. */
  readonly columns?: Printer<T>;
  /**
   * Converts an object, whose `apiVersion` is the new one already, to this kind. Absent: all versions have
   * the same fields. `provenance` is that of an object that is being written.
   */
  convert?(object: KubeObject, from: ApiVersion, to: ApiVersion, provenance?: Provenance): KubeObject;
}

/** A kind with the rules of the API server for it. */
export interface ServedKind<T extends KubeObject = KubeObject> extends ServedKindRules<T> {
  /** Resource of the kind, in one of its versions. */
  readonly type: Kind<T>;
}

/**
 * Defines the rules of the server for a kind. T is the type of its objects in the version in which they are
 * stored.
 */
export function defineServedKind<T extends KubeObject>(
  type: Kind<T>,
  rules: ServedKindRules<NoInfer<T>>,
): ServedKind<T> {
  return { ...rules, type };
}
