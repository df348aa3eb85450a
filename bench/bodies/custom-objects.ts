import { encodeProtobuf } from "@dray/api/codec";
import {
  apply,
  type Case,
  change,
  create,
  deep,
  defined,
  definition,
  definitions,
  full,
  half,
  items,
  json,
  map,
  merge,
  most,
  protobuf,
  send,
  text,
  thing,
  things,
} from "./requests.ts";

const strings = (bytes: number): object => map(() => ({ type: "string" }), bytes);
const named = `${definitions}/things.example.com`;

const rules = {
  "x-kubernetes-validations": Array.from({ length: 500 }, (_, index) => ({ rule: `has(self.k${index})` })),
};
const ruled = [
  send(
    "POST",
    definitions,
    definition({
      ruled: {
        type: "array",
        maxItems: 20_000,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          required: ["name"],
          properties: { name: { type: "string", maxLength: 10 }, n: { type: "integer" } },
          "x-kubernetes-validations": [{ rule: "self.n >= 0" }, { rule: "self.name != 'x'" }],
        },
      },
    }),
  ),
];

/** Definitions and custom objects. */
export const customBodies: Readonly<Record<string, () => Case>> = {
  "definition, properties": () => create(definitions, definition(strings(most * 0.95))),
  "definition, 1 MiB of properties": () => create(definitions, definition(strings(full))),
  "definition, protobuf, 1 MiB of properties": () =>
    create(definitions, Buffer.from(encodeProtobuf(definition(strings(full)))), protobuf),
  "definition, merge patch of one of 1 MiB": () => ({
    before: [send("POST", definitions, definition(strings(full)))],
    sent: send("PATCH", named, { metadata: { labels: { a: "b" } } }, merge),
  }),
  "definition, apply of 1 MiB of properties": () => ({
    before: [send("POST", definitions, definition(strings(1000)))],
    sent: send("PATCH", `${named}?fieldManager=f&force=true`, definition(strings(full)), apply),
  }),
  "definition, 500 rules of 20,000 properties": () =>
    create(definitions, definition({ spec: { type: "object", properties: strings(half), ...rules } })),
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
  "custom, 500 kB of properties": () =>
    create(things, thing(map(() => text, half)), json, [
      send("POST", definitions, definition(strings(full))),
    ]),
  "custom, rules that cost as much as they may": () =>
    create(things, thing({ numbers: Array.from({ length: 180 }, (_, index) => index) }), json, [
      send(
        "POST",
        definitions,
        definition({
          numbers: {
            type: "array",
            maxItems: 180,
            items: { type: "integer" },
            "x-kubernetes-validations": Array.from({ length: 15 }, (_, index) => ({
              rule: `self.all(x, self.all(y, x + y >= -${index}))`,
            })),
          },
        }),
      ),
    ]),
  "custom, rules of 12,000 items, label": () => {
    const items = Array.from({ length: 12_000 }, (_, index) => ({ name: `n${index}`, n: index }));
    return change(
      things,
      thing({ ruled: items }),
      { method: "PATCH", type: merge, before: ruled },
      { metadata: { labels: { a: "b" } } },
    );
  },
  "custom, an item without its key": () =>
    create(things, thing({ keyed: [...items((index) => ({ name: `n${index}` }), half), {}] }), json, defined),
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
