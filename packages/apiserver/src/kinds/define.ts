import type { Kind, KubeObject } from "@dray/api";
import type { Printer } from "../tables/column.ts";
import type { ServiceAllocator } from "./core/service/allocator.ts";
import type { ResourceFacts } from "./facts.ts";
import type { DeviceReservations } from "./resource/resource-claim/device-reservations.ts";
import type { Strategy } from "./strategy.ts";

/** A group and version. */
export interface ApiVersion {
  readonly group: string;
  readonly version: string;
}

/** What strategies are made of that is not part of a request. */
export interface StrategyParts {
  readonly serviceAllocator: ServiceAllocator;
  /** With the admission plugin UniqueDeviceAllocation only. */
  readonly deviceReservations?: DeviceReservations | undefined;
}

/** What the API server does with a kind beyond the rules that @dray/api has for it. */
export interface ServedKindRules<T extends KubeObject> {
  /** Absent: the kind is no resource, only bodies of requests to subresources are of it. */
  readonly facts?: ResourceFacts;
  /** What decoding does beyond the schema, in place, before defaults and validation. */
  normalise?(object: T): void;
  /** Absent: the general rules hold. */
  readonly strategy?: Strategy<T>;
  /** A strategy that needs parts of the server. */
  strategyOf?(parts: StrategyParts): Strategy<T>;
  /** How Tables show objects of the stored version. Absent: name and age. */
  readonly columns?: Printer<T>;
  /**
   * Converts an object, whose `apiVersion` is the new one already, to this kind. Absent: all versions have
   * the same fields.
   */
  convert?(object: KubeObject, from: ApiVersion, to: ApiVersion): KubeObject;
}

/** A kind with what the API server does with it. */
export interface ServedKind<T extends KubeObject = KubeObject> extends ServedKindRules<T> {
  /** How the kind is addressed, in one of its versions. */
  readonly type: Kind<T>;
}

/**
 * Defines what the server does with a kind. T is the type of its objects in the version in which they are
 * stored.
 */
export function defineServedKind<T extends KubeObject>(
  type: Kind<T>,
  rules: ServedKindRules<NoInfer<T>>,
): ServedKind<T> {
  return { ...rules, type };
}
