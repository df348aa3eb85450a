import {
  type Case,
  create,
  deep,
  defined,
  definition,
  definitions,
  full,
  items,
  json,
  map,
  most,
  text,
  thing,
  things,
} from "./requests.ts";

/** Definitions and custom objects. */
export const customBodies: Readonly<Record<string, () => Case>> = {
  "definition, properties": () =>
    create(definitions, definition(map(() => ({ type: "string" }), most * 0.95))),
  "definition, 1 MiB of properties": () =>
    create(definitions, definition(map(() => ({ type: "string" }), full))),
  "definition, rules": () =>
    create(
      definitions,
      definition(
        map(
          () => ({ type: "string", maxLength: 5, "x-kubernetes-validations": [{ rule: "self != 'a'" }] }),
          300_000,
        ),
      ),
    ),
  "custom, keys": () => create(things, thing({ spec: map(() => text) }), json, defined),
  "custom, 1 MiB of keys": () => create(things, thing({ spec: map(() => text, full) }), json, defined),
  "custom, list": () =>
    create(things, thing({ list: items((index) => ({ name: "a", n: index })) }), json, defined),
  "custom, 1 MiB of list": () =>
    create(things, thing({ list: items((index) => ({ name: "a", n: index }), full) }), json, defined),
  "custom, list with keys": () =>
    create(things, thing({ keyed: items((index) => ({ name: `n${index}` })) }), json, defined),
  "custom, set": () => create(things, thing({ set: items((index) => `n${index}`) }), json, defined),
  "custom, depth": () => create(things, thing({ spec: { list: items(() => deep(500, 1)) } }), json, defined),
  "custom, lists of lists": () => create(things, thing({ spec: { list: items(() => []) } }), json, defined),
};
