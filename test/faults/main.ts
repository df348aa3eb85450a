/**
 * `node scripts/node24.js test/faults/main.ts --store sqlite --kills 100 --seed N`: many crashes, by hand.
 */
import { parseArgs } from "node:util";
import { run } from "./run.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    kills: { type: "string", default: "100" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const { store } = values;
if (store !== "sqlite" && store !== "etcd") throw new Error(`--store ${store}: must be sqlite or etcd`);
process.stdout.write(`seed ${values.seed}\n`);
const { wrong, summary } = await run({
  store,
  kills: Number(values.kills),
  seed: Number(values.seed),
  progress: (line) => process.stdout.write(`${line}\n`),
});
process.stdout.write(`${summary}\n${wrong.length === 0 ? "nothing was lost" : wrong.join("\n")}\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;
