import { equal } from "../values/equality.ts";
import { boolType, listType } from "../values/types.ts";
import type { Value } from "../values/value.ts";
import { declare, type FunctionDeclaration, form, T } from "./declarations.ts";

const list = listType(T);

const has = (container: Value, wanted: Value): boolean =>
  (container as readonly Value[]).some((element) => equal(wanted, element) === true);
const contains = (container: Value, part: Value): boolean =>
  (part as readonly Value[]).every((wanted) => has(container, wanted));
const intersects = (a: Value, b: Value): boolean =>
  (a as readonly Value[]).some((element) => has(b, element));

/** Lists taken for sets (Kubernetes CEL library of 1.29). */
export const setsLibrary: readonly FunctionDeclaration[] = [
  declare("sets.contains", [form("list_sets_contains_list", [list, list], boolType, contains)]),
  declare("sets.intersects", [form("list_sets_intersects_list", [list, list], boolType, intersects)]),
  declare("sets.equivalent", [
    form("list_sets_equivalent_list", [list, list], boolType, (a, b) => contains(a, b) && contains(b, a)),
  ]),
];
