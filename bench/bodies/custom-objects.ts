import { encodeProtobuf } from "@dray/api/codec";
import {
  apply,
  type Case,
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
