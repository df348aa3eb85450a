/**
 * `npm run growth -- [--verbose] [--part K/N] [NAME...]`: makes each list and map of each kind long, writes
 * and reads such objects in all ways, and prints the places of the source whose work grows with the square of
 * the entries. A name is a part of a title, such as `Pod spec.containers`.
 */
import { parseArgs } from "node:util";
import { search } from "./search.ts";

const { values, positionals } = parseArgs({
  options: { verbose: { type: "boolean", default: false }, part: { type: "string", default: "1/1" } },
  allowPositionals: true,
});
const [part = 1, parts = 1] = values.part.split("/").map(Number);
let [found, measured, valid] = [0, 0, 0];
await search({
  names: positionals,
  part: [part, parts],
  report({ title, places }) {
    found++;
    const shown = places.slice(0, 5).map(({ name, factor }) => `  ${factor.toFixed(1)} n^2 ${name}`);
    process.stdout.write(`${[title, ...shown].join("\n")}\n`);
  },
  progress(title, statuses) {
    measured++;
    if ([...statuses.values()].some((status) => status < 300)) valid++;
    if (values.verbose)
      process.stderr.write(
        `${title}: ${[...statuses].map(([name, status]) => `${name} ${status}`).join(", ")}\n`,
      );
  },
});
process.stdout.write(
  `${found} of ${measured} lists and maps, of which ${valid} are taken with so many entries\n`,
);
process.exitCode = found > 0 ? 1 : 0;
