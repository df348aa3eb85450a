import type { KubernetesVersion } from "../features/features.ts";
import type { Pod, ScopedResourceSelectorRequirement } from "../generated/core/v1.ts";
import type { DeviceClass, ResourceClaim } from "../generated/resource/v1.ts";
import type { KubeObject } from "../objects/object.ts";
import { type Amounts, one } from "../values/amounts.ts";

/** Data besides an object on which its usage may depend. */
export interface QuotaLookup {
  /** The release whose rules hold. */
  readonly version: KubernetesVersion;
  deviceClasses(): Iterable<DeviceClass>;
  pod(namespace: string, name: string): Pod | undefined;
  claims(namespace: string): Iterable<ResourceClaim>;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Features that the rules of quotas depend on. */
export interface QuotaOptions {
  /** Claims are charged under the extended resource names of their classes too (KEP-5004). */
  readonly extendedResources: boolean;
}

/** A write that may be charged. */
export interface QuotaWrite {
  readonly operation: string;
  readonly subresource: string;
  readonly object: KubeObject;
  readonly old?: KubeObject;
}

/**
 * Charges the objects of one resource to quotas (core/v1 ResourceQuota, upstream's quota evaluators).
 */
export interface QuotaEvaluator {
  handles(write: QuotaWrite): boolean;
  /** Returns the names of a quota, among these, to which this resource is charged. */
  matching(names: readonly string[]): string[];
  usage(object: KubeObject): Amounts;
  /** Whether an object is in a scope; a resource without scopes is in none. */
  inScope?(requirement: ScopedResourceSelectorRequirement, object: KubeObject): boolean;
  /** Returns the reason why a quota on these names forbids an object, whatever its amounts. */
  constraint?(names: readonly string[], object: KubeObject): string | undefined;
}

/** `count/pods`, `count/deployments.apps` */
export function countName(group: string, resource: string): string {
  return group === "" ? `count/${resource}` : `count/${resource}.${group}`;
}

/**
 * Charges each object of a resource as one: the rule for all resources without one of their own. `alias`: an
 * older name under which quotas count it too.
 */
export function countEvaluator(group: string, resource: string, alias?: string): QuotaEvaluator {
  const names = [countName(group, resource), ...(alias === undefined ? [] : [alias])];
  return {
    handles: ({ operation, subresource }) => operation === "CREATE" && subresource === "",
    matching: (wanted) => wanted.filter((name) => names.includes(name)),
    usage: () => new Map(names.map((name) => [name, one])),
  };
}

/** The selector of a scope against the one value that an object has for it ("" where it has none). */
export function selectsValue(
  { operator, values = [] }: ScopedResourceSelectorRequirement,
  value: string,
): boolean {
  switch (operator) {
    case "In":
      return value !== "" && values.includes(value);
    case "NotIn":
      return value === "" || !values.includes(value);
    case "Exists":
      return value !== "";
    case "DoesNotExist":
      return value === "";
    default:
      return false;
  }
}
