/**
 * `npm run fuzz -- [--seconds N] [--seed N] [NAME...]`: sends broken and odd requests to an API server in this
 * process, each fuzzer for that long (10 seconds), and exits with 1 at the first answer that breaks a rule.
 */
import { parseArgs } from "node:util";
import { readCorpus } from "./corpus.ts";
import { fuzz } from "./fuzz.ts";
import { generators } from "./generators.ts";

const { values, positionals } = parseArgs({
  options: { seconds: { type: "string", default: "10" }, seed: { type: "string" } },
  allowPositionals: true,
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const seconds = Number(values.seconds);
const names = positionals.length > 0 ? positionals : Object.keys(generators);
const unknown = names.find((name) => !Object.hasOwn(generators, name));

if (unknown !== undefined || !Number.isInteger(seed) || !(seconds > 0)) {
  const list = Object.keys(generators).join(", ");
  process.stderr.write(`fuzz: --seconds N, --seed N, and names of fuzzers: ${list}\n`);
  process.exitCode = 2;
} else {
  const corpus = readCorpus();
  for (const name of names) {
    process.stdout.write(`${name}: seed ${seed}\n`);
    try {
      const { requests, statuses, growth } = await fuzz(generators[name]!, corpus, seed, seconds * 1000);
      const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
      const heap =
        growth === undefined ? "" : `, heap ${growth > 0 ? "+" : ""}${Math.round(growth / 1024)} KiB`;
      process.stdout.write(`${name}: ${requests} requests (${counts.join(", ")})${heap}\n`);
    } catch (error) {
      process.stdout.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    }
  }
}
