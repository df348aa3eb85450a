/**
 * How long one evaluation of a device selector takes: 1,000 distinct devices, costs counted, nothing kept
 * from one evaluation to the next. Beside it Kubernetes' own library on the same devices, asked through the
 * oracle.
 */

import { spawnSync } from "node:child_process";
import { type DeviceInput, deviceEnvironment, type PreparedDevice, type Selector } from "@dray/cel";
import { oracleProgram } from "../conformance/oracle.ts";

const driver = "gpu.example.com";
const A = `device.attributes["${driver}"]`;
const K = `device.capacity["${driver}"]`;

/** Selectors as users of drivers write them. */
const selectors: readonly (readonly [name: string, expression: string])[] = [
  ["driver", `device.driver == "${driver}"`],
  ["model", `device.driver == "${driver}" && ${A}.model == "a100"`],
  [
    "model and memory",
    `device.driver == "${driver}" && ${A}.model == "a100" && ${K}.memory.compareTo(quantity("40Gi")) >= 0`,
  ],
  ["number", `${A}.index >= 2 && ${A}.index < 6`],
  ["version", `${A}.driverVersion.isGreaterThan(semver("550.54.0"))`],
  ["one of several", `${A}.model in ["a100", "h100", "h200"] && ${A}.healthy`],
  ["guarded", `has(${A}.profile) && ${A}.profile.startsWith("1g.") || ${A}.?zone.orValue("none") == "none"`],
  ["bound", `cel.bind(gpu, ${A}, gpu.model == "a100" && gpu.healthy && gpu.index > 1)`],
  ["list", `${A}.links.exists(l, l == "nvlink3")`],
];

const count = 1000;

function devices(): DeviceInput[] {
  const models = ["a100", "h100", "l40s"];
  return Array.from({ length: count }, (_, i) => ({
    driver,
    attributes: {
      model: { string: models[i % 3]! },
      uuid: { string: `GPU-${(i * 7919).toString(16).padStart(8, "0")}` },
      index: { int: BigInt(i % 8) },
      healthy: { bool: i % 5 !== 0 },
      driverVersion: { version: `550.${i % 100}.${i % 7}` },
      links: { strings: [`nvlink${i % 4}`, `nvlink${(i + 1) % 5}`] },
      "resource.kubernetes.io/pcieRoot": { string: `pci0000:${(i % 256).toString(16).padStart(2, "0")}` },
      ...(i % 2 === 0 ? { profile: { string: `${(i % 7) + 1}g.10gb` } } : {}),
    },
    capacity: { memory: { value: `${20 + (i % 80)}Gi` }, cores: { value: String(i + 1) } },
  }));
}

/** Nanoseconds per device: the best of several rounds, each long enough to be measured. */
function measure(selector: Selector, input: readonly (DeviceInput | PreparedDevice)[]): number {
  let matches = 0;
  const pass = (): void => {
    for (const device of input) if (selector.evaluate(device).matches === true) matches++;
  };
  for (let i = 0; i < 20; i++) pass();
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    let passes = 0;
    const begin = performance.now();
    let end = begin;
    while (end - begin < 40) {
      pass();
      passes++;
      end = performance.now();
    }
    best = Math.min(best, ((end - begin) * 1e6) / (passes * input.length));
  }
  if (matches === 0) throw new Error(`${selector.expression} matches none of the devices`);
  return best;
}

const oracle = oracleProgram();

/** Nanoseconds per device of Kubernetes' own library; undefined where its program is not at hand. */
function upstream(expression: string, input: readonly DeviceInput[]): number | undefined {
  if (oracle === undefined) return undefined;
  const question = JSON.stringify(
    {
      op: "cel",
      expression,
      driver,
      devices: input.slice(0, 50),
      repeat: 200,
    },
    (_, value) => (typeof value === "bigint" ? Number(value) : value),
  );
  const { stdout } = spawnSync(oracle, { input: `${question}\n`, encoding: "utf8" });
  const { answer } = JSON.parse(stdout) as { answer: { devices: { nsEach: number }[] } };
  return answer.devices.reduce((sum, { nsEach }) => sum + nsEach, 0) / answer.devices.length;
}

/** Measures and gives a table in Markdown. */
export function celBench(): string {
  const input = devices();
  const rows = selectors.map(([name, expression]) => {
    const cells = (["generated", "closures"] as const).flatMap((backend) => {
      const environment = deviceEnvironment({ stored: true, backend });
      const selector = environment.compile(expression);
      if (!selector.ok) throw new Error(selector.error);
      const prepared = input.map((device) => environment.prepare(device));
      return [measure(selector, prepared), measure(selector, input)];
    });
    const go = upstream(expression, input);
    return `| ${[name, ...cells.map((ns) => ns.toFixed(0)), go?.toFixed(0) ?? "-"].join(" | ")} |`;
  });
  const note =
    oracle === undefined ? "\ncel-go was not asked: Go is missing, and DRAY_ORACLE names no oracle.\n" : "";
  return `Nanoseconds per device, ${count} distinct devices.

| selector | generated | generated, unprepared | closures | closures, unprepared | cel-go |
|---|---|---|---|---|---|
${rows.join("\n")}
${note}`;
}

if (import.meta.main) process.stdout.write(celBench());
