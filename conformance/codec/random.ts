import { Random } from "@dray/testing/random";
import type { FieldType, ScalarName, StructType } from "../../packages/api/src/schema/types.ts";

/** The release whose Go libraries answer. */
export const release = "1.37";

/**
 * Values that have gone wrong somewhere: ends of ranges, what sorts or escapes in its own way, what means
 * unset.
 */
const edges: Readonly<Record<ScalarName, readonly unknown[]>> = {
  string: [
    "",
    "a",
    "nginx:1.27",
    'quo"te\\ \n\t',
    "<b>&amp;</b>",
    "héllo",
    "漢字",
    "😀",
    "\u2028",
    "x".repeat(70),
    "1",
  ],
  bool: [true, false],
  int32: [0, 1, -1, 127, 128, 300, 8080, 2147483647, -2147483648],
  int64: [
    0,
    1,
    -1,
    30,
    16384,
    4294967296,
    -4294967297,
    9007199254740991,
    9007199254740993n,
    9223372036854775807n,
    -9223372036854775808n,
  ],
  double: [0, 1, -1.5, 0.1, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.125],
  bytes: ["", "AA==", "AAEC/w==", "aGVsbG8gd29ybGQ="],
  any: [1],
  Quantity: ["0", "1", "1Gi", "0.5", "100m", "1e3", "1024Ki", "1500m", "-2", 5, "12345678901234567890", "1n"],
  Time: [
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05+02:00",
    "1969-12-31T23:59:59Z",
    "1999-12-31T23:59:59.987654Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    null,
  ],
  MicroTime: [
    "2026-01-02T03:04:05.000001Z",
    "2026-01-02T03:04:05.123456-07:00",
    "1969-12-31T23:59:59.999999Z",
    "2026-01-02T03:04:05.000000Z",
    "0001-01-01T00:00:00.000000Z",
    null,
  ],
  Duration: ["1s"],
  IntOrString: [0, 80, -1, 2147483647, "", "http", "25%"],
  RawExtension: [
    null,
    {},
    { kind: "A", list: [1, "x", null, true, 1.5, {}], nested: { b: "", a: [] } },
    { apiVersion: "example.com/v1", kind: "Params", count: 9007199254740993n },
  ],
  FieldsV1: [{}, { "f:metadata": { "f:labels": { ".": {}, "f:app": {} } }, "f:spec": { "f:replicas": {} } }],
};

const keys = ["a", "B", "app.kubernetes.io/name", "_", "é", "\uffee", "😀", "10", "9", "", "__proto__"];

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.keys(value as object).length === 0);

/** Makes objects of struct types. It prefers fields that it has not set before, until it has set them all. */
export class RandomObjects {
  readonly #random: Random;
  /** `core/v1.PodSpec.containers` */
  readonly covered = new Set<string>();

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  struct(struct: StructType, depth = 0, density = 0.5): unknown {
    if (struct.anyJSON)
      return this.#random.pick([null, {}, "text", 5, [1, "a", null], true, { b: { c: [] } }]);
    if (struct.alternatives !== undefined) {
      return this.value(this.#random.pick(struct.alternatives).type, depth + 1, density);
    }
    const object: Record<string, unknown> = {};
    for (const [name, { type, marks }] of struct.fields) {
      if (marks.until !== undefined && Number(marks.until.slice(2)) < Number(release.slice(2))) continue;
      const place = `${struct.name}.${name}`;
      const fresh = !this.covered.has(place);
      const chance = density === 0 ? 0 : fresh ? 0.8 : density / (1 + depth / 4);
      if (this.#random.next() >= chance || depth > 14) continue;
      object[name] = this.#random.next() < 0.04 ? null : this.value(type, depth + 1, density);
      if (!isEmpty(object[name])) this.covered.add(place);
    }
    return object;
  }

  value(type: FieldType, depth: number, density: number): unknown {
    switch (type.form) {
      case "scalar":
        return this.#random.pick(edges[type.name]);
      case "struct":
        return this.struct(type.struct, depth, density);
      case "list": {
        const list: unknown[] = [];
        const length = this.#random.pick([0, 1, 1, 1, 2]);
        for (let i = 0; i < length; i++) list.push(this.value(type.element, depth + 1, density));
        return list;
      }
      case "map": {
        const map: Record<string, unknown> = {};
        const length = this.#random.pick([0, 1, 2, 3]);
        for (let i = 0; i < length; i++) {
          const key = this.#random.pick(keys);
          const value = this.#random.next() < 0.04 ? null : this.value(type.value, depth + 1, density);
          Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
        }
        return map;
      }
    }
  }
}
