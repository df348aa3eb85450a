import assert from "node:assert/strict";
import { test } from "node:test";
import { createEnvironment, type DeviceInput, deviceEnvironment, types } from "../../index.ts";

/** Texts that end a literal, a statement or a comment of JavaScript, and properties of all its objects. */
const hostile = [
  '"];pwned();["',
  "';pwned();'",
  "`;pwned();`",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this must stay a string.
  "${pwned()}",
  "\\",
  '\\";pwned();//',
  "\n;pwned();\r\n",
  "\u2028pwned()\u2029",
  "*/pwned()/*",
  "</script>",
  "\0",
  "😀\ufeff",
  "t0",
  "F",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
];
const quoted = (text: string): string =>
  `"${Array.from(text, (c) => `\\U${c.codePointAt(0)!.toString(16).padStart(8, "0")}`).join("")}"`;

/** Expressions with a text at every position that accepts one. */
const places = (text: string): string[] => {
  const q = quoted(text);
  const expressions = [
    `device.driver == ${q} || ${q} != device.driver || device.driver in [${q}, "a"]`,
    `device.attributes[${q}][${q}] == ${q}`,
    `device.attributes["d.com"][${q}] == 1`,
    `device.attributes["d.com"].?x[?${q}].orValue(${q}) == ${q}`,
    `device.capacity[${q}][${q}].isInteger()`,
    `${q} in device.attributes["d.com"] || ${q} in device.attributes`,
    `{${q}: ${q}}[${q}] == ${q} && {"a": 1}[${q}] == 1`,
    `[${q}].map(x, {x: ${q}})[0][${q}] == ${q}`,
    `cel.bind(x, ${q}, x + ${q}).size() > 1`,
    `${q}.matches(${q}) || "a".find(${q}) == ""`,
    `quantity(${q}).isInteger() || semver(${q}).major() == 1 || url(${q}).getHost() == ""`,
    `device[${q}] == 1`,
    `bytes(${q}) == b"a" || string(bytes(${q})) == "b"`,
  ];
  if (/^[A-Za-z0-9_.\-/ ]+$/.test(text)) {
    const fields = [`has({"a": 1}.\`${text}\`)`, `device.attributes.\`${text}\`.\`${text}\` == 1`];
    expressions.push(...fields, `{"a": 1}.\`${text}\` == 1`);
  }
  if (/^\w+$/.test(text)) {
    expressions.push(
      `[1].all(${text}, ${text} == 1)`,
      `cel.bind(${text}, {"${text}": 1}, ${text}.${text} == 1)`,
    );
    expressions.push(
      `device.attributes["d.com"].${text} == 1`,
      `dyn(device).${text} == 1`,
      `${text}(1) == 1`,
    );
  }
  return expressions;
};

/** Returns the sources of all functions that `action` generates. */
function generated(action: () => void): string[] {
  const sources: string[] = [];
  const original = globalThis.Function;
  globalThis.Function = new Proxy(original, {
    construct(target, args: string[]) {
      sources.push(args.at(-1)!);
      return Reflect.construct(target, args) as object;
    },
  });
  try {
    action();
  } finally {
    globalThis.Function = original;
  }
  return sources;
}

/** The tokens of generated code: strings in double quotes, known names, numbers, punctuation. */
const vocabulary =
  /^(?:\s|"use strict"|"(?:[^"\\\n\r]|\\.)*"|\b(?:const|let|return|function|if|else|for|break|typeof|instanceof|new|true|false|null|undefined|BigInt|limit|device|cost|length|value|push|set|find|get|has|driver|allowMultipleAllocations|attributes|capacity|[a-zA-Z]+Optional|keyError|bindingValue|qualify|lookup|fallback|variable|logicalResult|conditionError|iterationItems|notIterable|elementAt|append|insert|textCost|emptyDomain|none|CelError|LiteralMap|Optional|[FLDcK]|[kstq]\d+|\d+n?)\b|[-=!<>&|?:;,.(){}[\]+~])*$/;

test("no text of an expression becomes code", () => {
  for (const text of hostile) {
    for (const expression of places(text)) {
      const environment = deviceEnvironment({ stored: true, backend: "generated" });
      const sources = generated(() => environment.compile(expression));
      assert.ok(sources.length <= 1);
      for (const source of sources) assert.match(source, vocabulary, `${expression}\n${source}`);
    }
  }
});

test("hostile texts have the same results with both back ends", () => {
  for (const text of hostile) {
    const device: DeviceInput = {
      driver: "d.com",
      attributes: JSON.parse(`{${JSON.stringify(text)}: {"int": 1}, "x": {"string": "y"}}`),
      capacity: JSON.parse(`{${JSON.stringify(`${text}/${text}`)}: {"value": "1"}}`),
    };
    for (const expression of places(text)) {
      const [a, b] = (["generated", "closures"] as const).map((backend) => {
        const selector = deviceEnvironment({ stored: true, backend }).compile(expression);
        return selector.ok ? selector.evaluate(device) : selector.error;
      });
      assert.deepEqual(a, b, expression);
    }
    const selector = deviceEnvironment({ stored: true }).compile(
      `device.attributes["d.com"][${quoted(text)}] == 1`,
    );
    assert.ok(selector.ok);
    assert.equal(selector.evaluate(device).matches === true, !text.includes("/"), text);
  }
});

test("properties of JavaScript objects are missing", () => {
  const environment = deviceEnvironment({ stored: true });
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"]) {
    for (const expression of [
      `"${name}" in device.attributes || "${name}" in device.attributes["d.com"] || "${name}" in {"a": 1}`,
      `has(device.attributes["d.com"].${name}) || has({"a": 1}.${name}) || has(dyn(device).${name})`,
      `device.attributes["d.com"].?${name}.hasValue() || {"a": 1}.?${name}.hasValue()`,
      `"${name}" in url("http://a/?b=c").getQuery()`,
    ]) {
      const selector = environment.compile(expression);
      assert.ok(selector.ok, expression);
      assert.equal(selector.evaluate({ driver: "d.com", attributes: {} }).matches, false, expression);
    }
    const program = createEnvironment({ variables: { [name]: types.intType } }).compile(`${name} == 1`);
    assert.ok(program.ok);
    assert.equal(program.evaluate({}).error, `no such attribute(s): ${name}`);
    assert.equal(createEnvironment().compile(name).ok, false);
    assert.equal(createEnvironment().compile(`${name}(1)`).ok, false);
    assert.equal(createEnvironment().compile(`"a".${name}()`).ok, false);
  }
});
