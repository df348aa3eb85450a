import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { dray } from "../../testing/program.ts";

const model = 'device.attributes["gpu.example.com"].model';

test("check prints type and cost, as text and as data", async () => {
  const [text, json, yaml] = await Promise.all([
    dray(["cel", "check", `${model} == "a100"`]),
    dray(["cel", "check", `${model} == "a100"`, "-o", "json"]),
    dray(["cel", "check", model, "-o", "yaml"]),
  ]);
  assert.deepEqual([text.code, text.stderr], [0, ""]);
  assert.match(text.stdout, /^type +bool\ncost +5 at most, of 1000000\n/);
  const { reads: _, ...data } = JSON.parse(json.stdout) as Record<string, unknown>;
  const expression = `${model} == "a100"`;
  assert.deepEqual(data, {
    expression,
    valid: true,
    type: "bool",
    maxCost: 5,
    costLimit: 1_000_000,
    warnings: [],
  });
  const other = parse(yaml.stdout) as Record<string, unknown>;
  assert.deepEqual([other["type"], other["maxCost"]], ["dyn", 4]);
});

test("check says what is wrong with a caret and what was probably meant; exit code 1", async () => {
  const expression = 'device.attributes["vendor.com/vram-gb"] > 20';
  const [text, json] = await Promise.all([
    dray(["cel", "check", expression]),
    dray(["cel", "check", expression, "-o", "json"]),
  ]);
  assert.deepEqual([text.code, text.stdout], [1, ""]);
  const lines = text.stderr.split("\n");
  assert.match(
    lines[0] ?? "",
    /^error: compilation failed: ERROR: <input>:1:41: found no matching overload for '_>_'/,
  );
  assert.deepEqual(lines.slice(1, 3), [` | ${expression}`, ` | ${".".repeat(40)}^`]);
  assert.match(lines[3] ?? "", /^hint: .*device\.attributes\["vendor\.com"\]\["vram-gb"\]/);
  const data = JSON.parse(json.stdout) as { valid: boolean; error: string; hints: string[] };
  assert.equal(json.code, 1);
  assert.equal(data.valid, false);
  assert.equal(`error: ${data.error}\nhint: ${data.hints[0]}\n`, text.stderr);
});

test("rejects an expression that is too costly or too long, as the API server does", async () => {
  const costly = `[1,2,3,4,5,6,7,8,9,10]${".all(a, [1,2,3,4,5,6,7,8,9,10]".repeat(7)}.all(b, b > 0)${")".repeat(7)}`;
  const [cost, long] = await Promise.all([
    dray(["cel", "check", costly]),
    dray(["cel", "check", `${" ".repeat(10_240)}true`]),
  ]);
  assert.deepEqual([cost.code, long.code], [1, 1]);
  assert.match(
    cost.stderr,
    /^error: too complex: its estimated cost is \d+, and may be no more than 1000000\n/,
  );
  assert.match(long.stderr, /^error: too long: it has 10244 bytes, and may have no more than 10240\n/);
});

test("--new goes by the gates of the release; without it all that a server may have stored is known", async () => {
  const expression = `${model}.includes("a")`;
  const check = (...flags: string[]): ReturnType<typeof dray> => dray(["cel", "check", expression, ...flags]);
  const outputs = await Promise.all([
    check(),
    check("--new"),
    check("--new", "--feature-gates", "DRAListTypeAttributes=true"),
    check("--new", "--kubernetes-version", "1.35", "--feature-gates", "DRAListTypeAttributes=true"),
  ]);
  assert.deepEqual(
    outputs.map(({ code }) => code),
    [0, 1, 0, 2],
  );
});

test("both have their own help with an example, and an unknown one is wrong usage", async () => {
  const outputs = await Promise.all(
    [
      ["cel", "check", "--help"],
      ["cel", "eval", "--help"],
      ["cel", "frob"],
      ["cel", "check"],
    ].map((args) => dray(args)),
  );
  assert.deepEqual(
    outputs.map(({ code }) => code),
    [0, 0, 2, 2],
  );
  assert.match(outputs[0]!.stdout, /Example:\n {2}dray cel check /);
  assert.match(outputs[1]!.stdout, /Example:\n.*\n {2}dray cel eval /);
});
