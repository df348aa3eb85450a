/**
 * `npm run chaos -- [--minutes N] [--seed N] [--nodes N] [--split] [--keep]`: a bad day for a cluster. See
 * `runChaos`.
 */
import { parseArgs } from "node:util";
import { runChaos } from "./run.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    nodes: { type: "string", default: "3" },
    split: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const numberOf = (name: "minutes" | "seed" | "nodes"): number => {
  const value = Number(values[name]);
  if (values[name] !== "" && Number.isFinite(value) && value >= 0) return value;
  process.stderr.write(`chaos: --${name} ${JSON.stringify(values[name])}: must be a number\n`);
  process.exit(2);
};
const [minutes, seed, nodes] = [numberOf("minutes"), numberOf("seed"), numberOf("nodes")];
if (!Number.isInteger(nodes) || nodes < 3) {
  process.stderr.write(`chaos: --nodes ${nodes}: must be a whole number, at least 3\n`);
  process.exit(2);
}
if (values.split && (nodes === 3 || values.keep)) {
  process.stderr.write("chaos: --split: needs --nodes 4 or more, and has nothing to keep running\n");
  process.exit(2);
}
const print = (line: string): void => void process.stdout.write(`${line}\n`);

print(`seed ${seed}, ${minutes} minutes, ${nodes} nodes${values.split ? ", parts apart" : ""}`);
const { wrong, counts, figures } = await runChaos({
  seconds: minutes * 60,
  seed,
  nodes,
  split: values.split,
  keep: values.keep,
  progress: print,
});
const rows = [...Object.entries(counts).sort(), ...figures];
const width = Math.max(...rows.map(([name]) => name.length));
for (const [name, value] of rows) print(`${name.padEnd(width)}  ${value}`);
print(wrong.length === 0 ? "everything held" : `${wrong.length} things did not hold:\n${wrong.join("\n")}`);
process.exit(wrong.length === 0 ? 0 : 1);
