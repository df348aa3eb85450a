/**
 * `npm run fuzz -- [--seconds N] [--seed N] [--part K/N] [NAME...]`: sends broken and odd requests to an API
 * server in this process, each fuzzer for that long (10 seconds), says which answers were the slowest and the
 * largest, and exits with 1 at the first answer that breaks a rule; components that are not behind the API
 * server are given broken and odd input. `--part 1/2`: every second fuzzer from the first on, so that two
 * processes share them.
 */
import { parseArgs } from "node:util";
import { components, fuzzComponent } from "./components.ts";
import { readCorpus } from "./corpus.ts";
import { fuzz, type Notable, type Report } from "./fuzz.ts";
import { generators } from "./generators.ts";

const { values, positionals } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    seed: { type: "string" },
    part: { type: "string", default: "1/1" },
  },
  allowPositionals: true,
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const seconds = Number(values.seconds);
const [part = 0, parts = 0] = values.part.split("/").map(Number);
const all = positionals.length > 0 ? positionals : [...Object.keys(generators), ...Object.keys(components)];
const names = all.filter((_, index) => index % parts === part - 1);
const unknown = all.find((name) => !Object.hasOwn(generators, name) && !Object.hasOwn(components, name));

function print(name: string, { requests, statuses, growth, slowest, largest }: Report): void {
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  const heap = growth === undefined ? "" : `, heap ${growth > 0 ? "+" : ""}${Math.round(growth / 1024)} KiB`;
  const notable = [
    ...slowest.map((each) => `${Math.round(each.milliseconds)} ms, ${nameOf(each)}`),
    ...(largest === undefined ? [] : [`${Math.ceil(largest.bytes / 1024)} KiB, ${nameOf(largest)}`]),
  ];
  process.stdout.write(`${name}: ${requests} requests (${counts.join(", ")})${heap}\n`);
  process.stdout.write(notable.map((line) => `  ${line}\n`).join(""));
}

function nameOf({ seed, status, sent }: Notable): string {
  const size = `${Math.ceil((sent.body?.length ?? 0) / 1024)} KiB`;
  return `seed ${seed}: ${status} for ${sent.method} ${sent.url.slice(0, 150)} of ${size}, ${sent.headers["content-type"] ?? ""}`;
}

if (unknown !== undefined || !Number.isInteger(seed) || !(seconds > 0) || !(part >= 1 && part <= parts)) {
  const list = [...Object.keys(generators), ...Object.keys(components)].join(", ");
  process.stderr.write(`fuzz: --seconds N, --seed N, --part K/N, and names of fuzzers: ${list}\n`);
  process.exitCode = 2;
} else {
  const corpus = readCorpus();
  for (const name of names) {
    process.stdout.write(`${name}: seed ${seed}\n`);
    try {
      const component = components[name];
      if (component === undefined) print(name, await fuzz(generators[name]!, corpus, seed, seconds * 1000));
      else process.stdout.write(`${name}: ${await fuzzComponent(component, seed, seconds * 1000)} rounds\n`);
    } catch (error) {
      process.stdout.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    }
  }
}
