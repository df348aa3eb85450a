import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder, output, start } from "../../testing/program.ts";

const model = 'device.attributes["gpu.example.com"].model';
const examples = join(import.meta.dirname, "../../../../../examples/plan/cluster.yaml");

test("eval prints for each device whether it matches, and the cost", async () => {
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

test("eval prints on which devices an expression fails; exit code 1", async () => {
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
    const child = start(["cel", "eval", `${model} == "L4"`, "-f", "-"], {}, { stdin: "pipe" });
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
    assert.match(none.stderr, /^error: -f names no ResourceSlice$/m);
  });
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

test("shows progress on large input: steps with --verbose, a line on a terminal", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "large.json");
    const text = JSON.stringify({
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name: "s" },
      spec: {
        driver: "gpu.example.com",
        nodeName: "n",
        pool: { name: "n", generation: 1, resourceSliceCount: 1 },
        devices: [{ name: "a" }],
      },
    });
    writeFileSync(file, text + " ".repeat(2_100_000));
    const [evaluated, checked, linted] = await Promise.all([
      dray(["-v", "cel", "eval", "true", "-f", file]),
      dray(["-v", "cel", "check", "-f", file, "-f", examples]),
      dray(["-v", "lint", file]),
    ]);
    const steps = ({ stderr }: { stderr: string }): string[] =>
      stderr
        .split("\n")
        .flatMap((line) => /^(.*): \d+\.\d s$/.exec(line.replaceAll(`${folder}/`, ""))?.[1] ?? []);
    assert.deepEqual(steps(evaluated), [
      "Reading the ResourceSlices",
      "Reading large.json",
      "Reading the objects: 0 of 1",
      "Checking the objects: 0 of 1",
      "Asking the devices of ResourceSlices: 0 of 1",
    ]);
    assert.deepEqual(steps(checked).slice(0, 2), ["Reading the manifests", "Reading large.json"]);
    assert.match(steps(checked)[2] ?? "", /^Checking expressions: \d of \d$/);
    for (const step of ["Reading large.json", "Reading the objects: 0 of 1", "Checking objects: 0 of 1"])
      assert.ok(steps(linted).includes(step), steps(linted).join());
  });
});
