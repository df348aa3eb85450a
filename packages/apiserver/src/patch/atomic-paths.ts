import { isObject } from "../json/values.ts";
import type { TypeSchema } from "./type-schema.ts";

/**
 * Yields the paths of all atomic lists, maps and structs of an object: `.spec.selector`. As in upstream,
 * entries of maps without declared fields are skipped.
 *
 * Upstream: pkg/admission/plugin/policy/mutating/patch/smd.go, findAtomics
 */
export function* atomicPaths({ map, list }: TypeSchema, value: unknown, path = ""): Generator<string> {
  if (map !== undefined && isObject(value)) {
    if (map.atomic) yield path;
    for (const [key, member] of Object.entries(value)) {
      const field = map.fields?.get(key);
      if (field !== undefined) yield* atomicPaths(field.type, member, `${path}.${key}`);
    }
  }
  if (list !== undefined && Array.isArray(value)) {
    if (list.relation === "atomic") yield path;
    for (const [i, item] of value.entries()) yield* atomicPaths(list.element, item, `${path}[${i}]`);
  }
}
