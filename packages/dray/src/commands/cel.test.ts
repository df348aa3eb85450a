import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { dray, inFolder, output, start } from "../testing.ts";

const model = 'device.attributes["gpu.example.com"].model';
const examples = join(import.meta.dirname, "../../../../examples/plan/cluster.yaml");

test("check tells type and cost, for people and for programs", async () => {
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

test("what costs too much or is too long is refused, as the API server would", async () => {
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

test("eval tells for each device whether it matches, and what that costs", async () => {
  const args = ["cel", "eval", `${model} == "L4"`, "-f", examples];
  const [text, json] = await Promise.all([dray(args), dray([...args, "-o", "json"])]);
  assert.deepEqual([text.code, text.stderr], [0, ""]);
  assert.match(text.stdout, /^DEVICE +MATCHES +COST +ERROR\n/);
  assert.match(text.stdout, /\ngpu.example.com\/node-1\/gpu-0 +no +5\n/);
  assert.match(text.stdout, /\ngpu.example.com\/node-2\/gpu-1 +yes +5\n/);
  assert.match(text.stdout, /\n2 of 4 devices match\n$/);
  const data = JSON.parse(json.stdout) as { devices: unknown[]; summary: unknown };
  assert.deepEqual(data.summary, { devices: 4, matched: 2, failed: 0 });
  assert.deepEqual(data.devices[3], {
    driver: "gpu.example.com",
    pool: "node-2",
    device: "gpu-1",
    slice: "node-2-gpu.example.com",
    matches: true,
    error: null,
    cost: 5,
  });
});

test("eval tells on which devices an expression fails; exit code 1", async () => {
  await inFolder(async (folder) => {
    // One slice of a pool is enough to ask about its devices.
    const slice = {
      apiVersion: "resource.k8s.io/v1beta1",
      kind: "ResourceSlice",
      metadata: { name: "s" },
      spec: {
        driver: "gpu.example.com",
        nodeName: "n",
        pool: { name: "n", generation: 1, resourceSliceCount: 9 },
        devices: [
          { name: "a", basic: { attributes: { model: { string: "L4" } } } },
          { name: "b", basic: {} },
        ],
      },
    };
    const child = start(["cel", "eval", `${model} == "L4"`, "-f", "-"], {}, false, "pipe");
    child.stdin?.end(JSON.stringify(slice));
    const { code, stdout } = await output(child);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /\ngpu.example.com\/n\/a +yes +5\ngpu.example.com\/n\/b +error +\d+ +no such key: model/,
    );
    assert.match(stdout, /\n1 of 2 devices match, 1 in error: /);
    writeFileSync(join(folder, "none.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: here}\n");
    const none = await dray(["cel", "eval", "true", "-f", join(folder, "none.yaml")]);
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    assert.match(none.stderr, /^error: there is no ResourceSlice/);
  });
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

test("of very many devices the first of each answer are listed; programs get all", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "slices.json");
    const items = ["a", "b"].map((name) => ({
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name },
      spec: {
        driver: "gpu.example.com",
        nodeName: name,
        pool: { name, generation: 1, resourceSliceCount: 1 },
        devices: Array.from({ length: 60 }, (_, i) => ({ name: `d-${i}`, attributes: { i: { int: i } } })),
      },
    }));
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    const expression = 'device.attributes["gpu.example.com"].i < 50';
    const [text, json] = await Promise.all([
      dray(["cel", "eval", expression, "-f", file]),
      dray(["cel", "eval", expression, "-f", file, "-o", "json"]),
    ]);
    const lines = text.stdout.split("\n").map((line) => line.split(/ {3,}/));
    assert.deepEqual(
      lines.filter(([first]) => first?.startsWith("...")),
      [
        ["... and 90 more", "yes"],
        ["... and 10 more", "no"],
      ],
    );
    assert.equal(lines.length, 1 + 11 + 11 + 3);
    assert.equal((JSON.parse(json.stdout) as { devices: unknown[] }).devices.length, 120);
  });
});
