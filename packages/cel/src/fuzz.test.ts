import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { seedOr } from "@dray/testing/random";
import fc from "fast-check";
import { type DeviceEnvironment, type DeviceInput, deviceEnvironment } from "./index.ts";

/** fast-check prints the seed of a failure. */
const settings = { seed: seedOr(20261121), numRuns: 1000 };
/** For a run that hangs: each test takes less than a second. */
const timeout = 120_000;

const environments: readonly DeviceEnvironment[] = [
  deviceEnvironment({ stored: true }),
  deviceEnvironment({ stored: true, backend: "closures" }),
  deviceEnvironment({ stored: false }),
];

const driver = "dra.example.com";
const devices: readonly DeviceInput[] = [
  { driver },
  {
    driver,
    attributes: {
      model: { string: "a" },
      count: { int: 9223372036854775807n },
      ok: { bool: true },
      ver: { version: "1.2.3-rc.1+b" },
      tags: { strings: ["a", "b", "日本"] },
      nums: { ints: [3, 1, 2] },
      vers: { versions: ["1.0.0", "2.1.0"] },
      "other.example.com/model": { string: "x".repeat(64) },
    },
    capacity: { memory: { value: "80Gi" }, cores: { value: "500m" } },
    allowMultipleAllocations: true,
  },
  { driver, attributes: { ver: { version: "not one" } } },
  { driver, attributes: { model: {} } },
];

/** Checks that a text compiles or has an error with a position, and that evaluations do not throw. */
function holds(text: string): void {
  for (const environment of environments) {
    const selector = environment.compile(text);
    if (!selector.ok) checkError(text, selector.error);
    else {
      for (const device of devices) {
        const { matches, error, cost } = selector.evaluate(device, { costLimit: 20_000 });
        assert.ok(error === undefined ? typeof matches === "boolean" : error !== "");
        assert.ok(Number.isSafeInteger(cost) && cost >= 0, `cost ${cost}`);
      }
    }
    const derived = environment.compileAttribute(text);
    if (!derived.ok) checkError(text, derived.error);
    else {
      for (const device of devices) {
        const { attribute, error } = derived.evaluate(device, { costLimit: 20_000 });
        assert.ok(error === undefined ? Object.keys(attribute).length === 1 : error !== "");
      }
    }
  }
}

/** Checks that an error has a position in the text; -1:0 is that of the text as a whole. */
function checkError(text: string, error: string): void {
  if (/^(must evaluate to |program instantiation failed: .)/.test(error)) return;
  const [, line = "", column = ""] = /^compilation failed: ERROR: <input>:(-?\d+):(\d+): ./.exec(error) ?? [];
  assert.notEqual(line, "", error.slice(0, 200));
  if (line === "-1") return;
  const source = text.split("\n")[Number(line) - 1];
  assert.ok(source !== undefined, `line ${line} of ${text.split("\n").length}`);
  assert.ok(Number(column) <= [...source].length + 1, `column ${column} of ${JSON.stringify(source)}`);
}

const recorded = ["literals", "device", "macros", "libraries", "refused", "realistic"].flatMap((name) => {
  const file = new URL(`../../../conformance/cel/${name}.jsonl.gz`, import.meta.url);
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
  return lines.map((line) => (JSON.parse(line) as { expression: string }).expression);
});
const tokens = [
  ..."()[]{}.,:?!-+*/%<>=&|\"'`\\;@#$ \n\t\0é日𝕏",
  ...["==", "!=", "<=", ">=", "&&", "||", "in", ".?", "[?", "{?", "//", '"""', "r'", "b'", "\\u", "\\x"],
  ...["true", "null", "1", "1u", "1.5", "1e400", "0x", "9223372036854775808", "''", "'%s'", "x", "y", "as"],
  ...[
    "device",
    "attributes",
    "capacity",
    `["${driver}"]`,
    "model",
    "count",
    "memory",
    "nosuch",
    "dyn(",
    "has(",
  ],
  ...[
    "size(",
    "int(",
    "type(",
    "duration(",
    "quantity(",
    "semver(",
    "format",
    "ip(",
    "cidr(",
    "url(",
    "sets.",
  ],
  ...[
    "map(x, ",
    "filter(x, ",
    "all(x, ",
    "exists(k, v, ",
    "sortBy(x, ",
    "cel.bind(x, ",
    "optional.of(",
    "math.",
  ],
  ...[
    "transformMapEntry(k, v, ",
    "orValue(",
    "optMap(x, ",
    "matches('",
    "format([",
    "lists.range(",
    "join(",
    ")",
  ],
];
const token = fc.constantFrom(...tokens);
const expression = fc.constantFrom(...recorded);

describe("any text compiles or has an error with a position", { timeout }, () => {
  const check = (name: string, text: fc.Arbitrary<string>, runs = settings.numRuns): void => {
    test(name, () => fc.assert(fc.property(text, holds), { ...settings, numRuns: runs }));
  };

  check("of any characters", fc.string({ unit: "binary", maxLength: 60 }));
  // Includes lone surrogates.
  check(
    "of any UTF-16",
    fc.array(fc.nat(0xffff), { maxLength: 30 }).map((units) => String.fromCharCode(...units)),
  );
  check(
    "of tokens of the language",
    fc.array(token, { maxLength: 30 }).map((words) => words.join("")),
  );
  check(
    "a selector with a part removed or inserted",
    fc
      .tuple(expression, fc.nat(), fc.nat(8), fc.oneof(token, expression, fc.string({ unit: "binary" })))
      .map(([text, at, length, other]) => {
        const start = at % (text.length + 1);
        return text.slice(0, start) + other + text.slice(start + length);
      }),
    2000,
  );
  check(
    "two selectors, joined",
    fc.tuple(expression, token, expression).map(([a, word, b]) => `${a} ${word} ${b}`),
  );
});

describe("nesting and length are limited", { timeout }, () => {
  const nested: readonly (readonly [open: string, close: string])[] = [
    ["(", ")"],
    ["[", "]"],
    ["{1: ", "}"],
    ["!", ""],
    ["-", ""],
    ["!(", ")"],
    ["dyn(", ")"],
    ["true ? ", " : false"],
    ["true ? false : ", ""],
    ["true && (", ")"],
    ["[1].all(x, ", ")"],
    ["[1].map(x, ", ")"],
    ["cel.bind(x, true, ", ")"],
    ["has(", ".a)"],
    ["x.", ""],
    ["'a'.", ""],
  ];
  const repeated = [
    " + 1",
    " && true",
    " || false",
    " == true",
    ".a",
    "[0]",
    ".size()",
    ".?a",
    " in [true]",
    ", 1",
  ];
  const counts = [250, 251, 5000];

  for (const [open, close] of nested) {
    test(`${open}...${close}`, () => {
      for (const n of counts) {
        holds(`${open.repeat(n)}true${close.repeat(n)}`);
        holds(open.repeat(n));
      }
    });
  }
  for (const part of repeated) {
    test(`true${part}${part}...`, () => {
      for (const n of counts) for (const start of ["true", "dyn(1)", "["]) holds(start + part.repeat(n));
    });
  }

  const long: Readonly<Record<string, (n: number) => string>> = {
    "a string": (n) => `"${"x".repeat(n)}" == device.driver`,
    "a string of escapes": (n) => `'${"\\u00e9".repeat(n)}' == device.driver`,
    "a string without end": (n) => `"""${"x\n".repeat(n)}`,
    bytes: (n) => `b"${"\\377".repeat(n)}" == b""`,
    "a whole number": (n) => `${"9".repeat(n)} == 1`,
    "a hexadecimal number": (n) => `0x${"f".repeat(n)} == 1`,
    "a fraction": (n) => `0.${"3".repeat(n)}e-${"0".repeat(n)}1 < 1.0`,
    "an exponent": (n) => `1e${"9".repeat(n)} < 1.0`,
    "a name": (n) => `${"a".repeat(n)} == 1`,
    "a list": (n) => `device.driver in [${"'a', ".repeat(n)}]`,
    "a map": (n) => `1 in {${Array.from({ length: n }, (_, i) => `${i}: ${i}`).join(", ")}}`,
    "a pattern": (n) => `device.driver.matches("${"(a*)*".repeat(n)}$")`,
    "a computed pattern": (n) => `"${"a".repeat(n)}".matches("${"(a|aa)+".repeat(10)}" + "$")`,
    "a format": (n) => `"${"%s".repeat(n)}".format([${"1, ".repeat(n)}]) == ""`,
    "a width of a format": (n) => `"%.${"9".repeat(n)}f".format([1.0]) == ""`,
    "a quantity": (n) => `quantity("${"9".repeat(n)}Gi").isGreaterThan(quantity("${"9".repeat(n)}e${n}"))`,
    "a version": (n) => `semver("${"9".repeat(n)}.0.0-${"a.".repeat(n)}b") == semver("1.0.0")`,
    "a duration": (n) => `duration("${"1h".repeat(n)}") > duration("${"9".repeat(n)}h")`,
    "blank text": (n) => `${" \n\t".repeat(n)}true`,
    comments: (n) => `${"// x\n".repeat(n)}true`,
    "undeclared names": (n) => Array.from({ length: n }, (_, i) => `x${i}`).join(" + "),
    "a text that grows": () =>
      "[1, 2, 3, 4, 5, 6, 7, 8].all(a, lists.range(1000).map(x, 'ab').join('-') != '')",
    "a loop in a loop": (n) =>
      `${"lists.range(10000).all(x, ".repeat(Math.min(n, 50))}true${")".repeat(Math.min(n, 50))}`,
  };
  for (const [name, text] of Object.entries(long)) {
    test(name, () => {
      for (const n of [1, 1000, 110_000]) holds(text(n));
    });
  }
});
