import { MessageValue } from "../values/message.ts";
import { minTimestamp } from "../values/time.ts";
import { boolType, dynType, intType, listType, mapType, optionalType, stringType } from "../values/types.ts";
import { CelError, Duration, MapValue, Optional, Timestamp, Uint, type Value } from "../values/value.ts";
import { declare, type FunctionDeclaration, K, method, overload, T, V } from "./declarations.ts";

const optional = optionalType(T);
const list = listType(T);
const absent = new CelError("optional.none() dereference");

/** Reports whether a value is the zero value of its type. Types of Kubernetes have no zero value. */
function isZero(value: Value): boolean {
  if (value === null || value === false || value === "" || value === 0n || value === 0) return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanoseconds === 0n;
  if (value instanceof Timestamp) return value.nanoseconds === minTimestamp;
  if (value instanceof Uint8Array || Array.isArray(value)) return value.length === 0;
  if (value instanceof MessageValue) return value.isZero;
  // A map of domains, which finds every key, has no zero value.
  return value instanceof MapValue && value.size === 0 && value.find("") === undefined;
}

const unwrap = (a: Value): Value =>
  (a as readonly Value[]).flatMap((entry) =>
    entry instanceof Optional && entry.value !== undefined ? [entry.value] : [],
  );

/** Optional values. `or` and `orValue` have nodes of their own in the program, as their argument is lazy. */
export const optionalLibrary: readonly FunctionDeclaration[] = [
  declare("optional.of", [overload("optional_of", [T], optional, (a) => new Optional(a))]),
  declare("optional.ofNonZeroValue", [
    overload("optional_ofNonZeroValue", [T], optional, (a) => (isZero(a) ? Optional.none : new Optional(a))),
  ]),
  declare("optional.none", [overload("optional_none", [], optional, () => Optional.none)]),
  declare("optional.unwrap", [overload("optional_unwrap", [listType(optional)], list, unwrap)]),
  declare("unwrapOpt", [method("optional_unwrapOpt", [listType(optional)], list, unwrap)]),
  declare("value", [
    method("optional_value", [optional], T, (a) => (a as Optional).value ?? nullOrAbsent(a as Optional)),
  ]),
  declare("hasValue", [
    method("optional_hasValue", [optional], boolType, (a) => (a as Optional).value !== undefined),
  ]),
  declare("or", [method("optional_or_optional", [optional, optional], optional)]),
  declare("orValue", [method("optional_orValue_value", [optional, T], T)]),
  declare("_?._", [overload("select_optional_field", [dynType, stringType], optionalType(V))]),
  declare("_[?_]", [
    overload("list_optindex_optional_int", [list, intType], optional),
    overload("optional_list_optindex_optional_int", [optionalType(list), intType], optional),
    overload("map_optindex_optional_value", [mapType(K, V), K], optionalType(V)),
    overload("optional_map_optindex_optional_value", [optionalType(mapType(K, V)), K], optionalType(V)),
  ]),
  declare("_[_]", [
    overload("optional_list_index_int", [optionalType(list), intType], optional),
    overload("optional_map_index_value", [optionalType(mapType(K, V)), K], optionalType(V)),
  ]),
];

function nullOrAbsent(value: Optional): Value {
  return value.value === null ? null : absent;
}
