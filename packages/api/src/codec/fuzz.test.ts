import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { typeRows } from "../schema/table.ts";
import {
  DecodeError,
  decodeAs,
  decodeProtobuf,
  encodeJSON,
  encodeProtobuf,
  JSONError,
  parseJSON,
} from "./index.ts";

/** Runs a reader on garbage: it must return a value or throw an error of its own with a message. */
function survives(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError || error instanceof JSONError) {
      assert.notEqual(error.message, "");
      return undefined;
    }
    throw error;
  }
}

const settings = { seed: 20260128, numRuns: 2000 };

const recorded = gunzipSync(
  readFileSync(new URL("../../../../conformance/codec/objects.jsonl.gz", import.meta.url)),
)
  .toString()
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as { input: string; protobuf: string });

const real = fc.constantFrom(...recorded.map(({ protobuf }) => Buffer.from(protobuf, "base64")));

test("decodeProtobuf reads or refuses garbage after a real envelope", () => {
  const heads = [
    "Pod",
    "ConfigMap",
    "ResourceClaim",
    "Lease",
    "CustomResourceDefinition",
    "Event",
    "Deployment",
  ];
  const versions = [
    "v1",
    "apps/v1",
    "resource.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "coordination.k8s.io/v1",
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...heads),
      fc.constantFrom(...versions),
      fc.uint8Array({ maxLength: 60 }),
      (kind, apiVersion, raw) => {
        const meta = [
          10,
          apiVersion.length,
          ...Buffer.from(apiVersion),
          18,
          kind.length,
          ...Buffer.from(kind),
        ];
        survives(() =>
          decodeProtobuf(
            Uint8Array.of(0x6b, 0x38, 0x73, 0, 10, meta.length, ...meta, 18, raw.length, ...raw),
          ),
        );
      },
    ),
    settings,
  );
});

test("decodeProtobuf rejects mutated bytes or returns an object that encodes", () => {
  let read = 0;
  fc.assert(
    fc.property(
      real,
      fc.array(fc.tuple(fc.nat(100_000), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      fc.nat(3),
      fc.nat(100_000),
      (bytes, changes, how, where) => {
        let changed = Buffer.from(bytes);
        // The magic and the kind are mostly kept: without them, the rest is not read.
        for (const [at, value] of changes) changed[30 + (at % Math.max(1, changed.length - 30))] = value;
        const at = where % (changed.length + 1);
        if (how === 1) changed = changed.subarray(0, at);
        if (how === 2) {
          changed = Buffer.concat([changed.subarray(0, at), Buffer.of(0xff), changed.subarray(at)]);
        }
        const object = survives(() => decodeProtobuf(changed).object) as object | undefined;
        if (object === undefined) return;
        read++;
        const { object: again } = decodeProtobuf(encodeProtobuf(object));
        assert.deepStrictEqual(decodeProtobuf(encodeProtobuf(again)).object, again);
      },
    ),
    settings,
  );
  // Otherwise only refusals would have been tried.
  assert.ok(read > 100, `${read} of the changed objects were read`);
});

/**
 * False for numbers beyond a float: Go refuses them, JSON.parse makes them Infinity, which is written as
 * null.
 */
function writable(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(writable);
  return typeof value !== "number" || Number.isFinite(value);
}

test("parseJSON reads what JSON.parse reads, and refuses the rest", () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.tuple(fc.json(), fc.nat(1000), fc.string({ maxLength: 2 })).map(([json, at, other]) => {
      const cut = at % (json.length + 1);
      return json.slice(0, cut) + other + json.slice(cut);
    }),
    fc.array(fc.constantFrom(...'{}[],:"\\-+.eE0123456789truefalsnu \n')).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, (json) => {
      let expected: unknown;
      try {
        expected = JSON.parse(json);
      } catch {
        assert.throws(() => parseJSON(json), JSONError);
        return;
      }
      if (!writable(expected)) {
        assert.throws(() => parseJSON(json), JSONError);
        return;
      }
      const value = parseJSON(json);
      assert.equal(JSON.stringify(JSON.parse(encodeJSON(value))), JSON.stringify(expected));
    }),
    settings,
  );
});

test("decodeAs reads or refuses any tree as any type", () => {
  const names = [...typeRows.keys()];
  const keys = fc.constantFrom(
    ...new Set([...typeRows.values()].flatMap((rows) => rows.map(([name]) => name))),
    "__proto__",
    "constructor",
    "",
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom(null, true, 0, -1, 1.5, 1e300, 2n ** 63n, "", "1", "2026-01-02T03:04:05Z", "AA==", "é"),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(keys, tie("tree"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(fc.constantFrom(...names), tree, (name, value) => {
      survives(() => decodeAs(value, name));
    }),
    settings,
  );
  // Real objects with one part replaced go deeper.
  fc.assert(
    fc.property(fc.constantFrom(...recorded), fc.nat(10_000), tree, ({ input }, at, value) => {
      const object = parseJSON(input) as { kind: string };
      replacePart(object, at, value);
      const type = names.find((name) => name.endsWith(`.${object.kind}`));
      if (type !== undefined) survives(() => decodeAs(object, type));
    }),
    settings,
  );
});

/** Puts a value in place of the part that walking down that far comes to. */
function replacePart(object: object, at: number, value: unknown): void {
  let place = object as Record<string, unknown>;
  for (let left = at; ; left = Math.floor(left / 7)) {
    const names = Object.keys(place).filter((name) => name !== "kind" && name !== "apiVersion");
    const name = names[left % Math.max(1, names.length)];
    if (name === undefined) return;
    const inner = place[name];
    if (left < 7 || typeof inner !== "object" || inner === null) {
      place[name] = value;
      return;
    }
    place = inner as Record<string, unknown>;
  }
}

test("deep nesting is refused, not crashed upon", () => {
  for (const depth of [1000, 9_000, 10_001, 1_000_000]) {
    survives(() => parseJSON("[".repeat(depth)));
    survives(() => parseJSON('{"a":'.repeat(depth)));
    survives(() => parseJSON(`${"[".repeat(depth)}${"]".repeat(depth)}`));
    const parameters = survives(() => parseJSON(`${'{"not":'.repeat(depth)}{}${"}".repeat(depth)}`));
    if (parameters !== undefined) survives(() => decodeAs(parameters, "apiextensions/v1.JSONSchemaProps"));
  }
  // Nested messages: each length is that of the message inside.
  let inner = Buffer.alloc(0);
  for (let i = 0; i < 5000; i++) {
    const length: number[] = [];
    for (let rest = inner.length; ; rest >>>= 7) {
      length.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
      if (rest < 0x80) break;
    }
    // JSONSchemaProps.not is field 28.
    inner = Buffer.concat([Buffer.of(0xe2, 1, ...length), inner]);
  }
  const meta = Buffer.from("\n\x17apiextensions.k8s.io/v1\x12\x18CustomResourceDefinition");
  const wrap = (tag: number, bytes: Buffer): Buffer =>
    Buffer.concat([
      Buffer.of(tag, 0x80 | (bytes.length & 0x7f), 0x80 | ((bytes.length >>> 7) & 0x7f), bytes.length >>> 14),
      bytes,
    ]);
  // spec (2), versions (7), schema (4), openAPIV3Schema (1)
  const raw = wrap(0x12, wrap(0x3a, wrap(0x22, wrap(0x0a, inner))));
  const bytes = Buffer.concat([Buffer.from("k8s\0"), Buffer.of(10, meta.length), meta, wrap(0x12, raw)]);
  assert.throws(() => decodeProtobuf(bytes), /more than \d+ messages within each other/);
});
