import { StringMap } from "./maps.ts";
import type { Value } from "./value.ts";

/** The entries of a domain that a device does not have. */
export const emptyDomain = new StringMap(new Map());

/**
 * Maps domains to their entries. A missing domain is found as an empty map, but `in` and iteration skip it.
 */
export class DomainMap extends StringMap {
  override find(key: Value): Value | undefined {
    return super.find(key) ?? emptyDomain;
  }
}
