/**
 * Replays recorded answers of Kubernetes' own library (files of JSON lines; the first argument is their folder, a
 * second one a number of disagreements to print, a third one what to print: `cost`, `value`, ...) and prints how many agree, by what is compared.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DeviceInput, deviceEnvironment } from "@dray/cel";

interface Vector {
  readonly id: string;
  readonly expression: string;
  readonly driver: string;
  readonly features: readonly string[];
  readonly stored: boolean;
  readonly costLimit?: number;
  readonly devices: readonly Omit<DeviceInput, "driver">[];
  readonly expect: {
    readonly compileError?: string;
    readonly type?: string;
    readonly maxCost?: number | string;
    readonly devices?: readonly { matches?: boolean; error?: string; cost?: number }[];
  };
}

const [folder = ".", show = "0", wanted = ""] = process.argv.slice(2);
const counts = new Map<string, [number, number]>();
let printed = 0;

function tally(vector: Vector, kind: string, actual: unknown, expected: unknown): void {
  const agrees = actual === expected;
  const count = counts.get(kind) ?? [0, 0];
  count[agrees ? 0 : 1]++;
  counts.set(kind, count);
  if (agrees || !kind.startsWith(wanted) || printed >= Number(show)) return;
  printed++;
  process.stdout.write(
    `${vector.id} ${kind}: ${vector.expression.slice(0, 300)}\n  want ${expected}\n  have ${actual}\n`,
  );
}

const environments = new Map<string, ReturnType<typeof deviceEnvironment>>();
function environment(vector: Vector): ReturnType<typeof deviceEnvironment> {
  const key = `${vector.stored} ${vector.features}`;
  const known = environments.get(key);
  if (known !== undefined) return known;
  const made = deviceEnvironment({
    stored: vector.stored,
    features: {
      consumableCapacity: vector.features.includes("ConsumableCapacity"),
      listTypeAttributes: vector.features.includes("ListTypeAttributes"),
    },
  });
  environments.set(key, made);
  return made;
}

const place = (error: string): string => /<input>:(-?\d+:-?\d+)/.exec(error)?.[1] ?? error;

for (const file of readdirSync(folder)
  .filter((name) => name.endsWith(".jsonl"))
  .sort()) {
  counts.clear();
  for (const line of readFileSync(join(folder, file), "utf8").trim().split("\n")) {
    const vector = JSON.parse(line) as Vector;
    try {
      replay(vector);
    } catch (error) {
      tally(vector, "thrown", String(error), "");
    }
  }
  const parts = [...counts].map(([kind, [good, bad]]) => `${kind} ${good}/${good + bad}`);
  process.stdout.write(`${file}: ${parts.join(", ")}\n`);
}

function replay(vector: Vector): void {
  const { expect } = vector;
  const compiled = environment(vector).compile(vector.expression);
  if (expect.compileError !== undefined) {
    const syntax = expect.compileError.includes("Syntax error");
    if (compiled.ok) tally(vector, "missing compile error", "", expect.compileError);
    else if (syntax) tally(vector, "syntax position", place(compiled.error), place(expect.compileError));
    else
      tally(
        vector,
        "checker error",
        `${compiled.type} ${compiled.error}`,
        `${expect.type} ${expect.compileError}`,
      );
    return;
  }
  if (!compiled.ok) {
    tally(vector, "compiles", compiled.error, "");
    return;
  }
  const most = String(compiled.maxCost);
  tally(vector, "maxCost", most === "18446744073709551615" ? "unlimited" : most, String(expect.maxCost));
  vector.devices.forEach((device, i) => {
    const wanted = expect.devices![i]!;
    const input = { driver: vector.driver, ...device };
    const options = vector.costLimit === undefined ? {} : { costLimit: vector.costLimit };
    const actual = compiled.evaluate(input, options);
    tally(vector, "value", actual.matches ?? "error", wanted.matches ?? "error");
    if (wanted.error !== undefined) tally(vector, "error", actual.error, wanted.error);
    if (wanted.cost !== undefined) tally(vector, "cost", actual.cost, wanted.cost);
  });
}
