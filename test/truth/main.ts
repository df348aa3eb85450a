/**
 * `npm run truth -- [--cases N] [--seed N] [--only SEED] [--live]`: makes random clusters in which a pod
 * waits, is stuck or has ended, asks `dray explain`, does what it says and looks whether the pod runs. Prints
 * each answer that was not true with the seed that repeats it, and exits with 1 if there was any. With
 * `--live` the real scheduler judges the first suggested change, too.
 */
import { parseArgs } from "node:util";
import { checkCase } from "./check.ts";
import { judge } from "./second-judge.ts";

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    live: { type: "boolean", default: false },
  },
});
const [cases, seed] = [Number(values.cases), Number(values.seed)];
const seeds =
  values.only === undefined ? Array.from({ length: cases }, (_, i) => seed + i) : [Number(values.only)];
const causes = new Map<string, number>();
let [changes, singles, judged, failed] = [0, 0, 0, 0];
for (const each of seeds) {
  const result = await checkCase(each);
  changes += result.changes;
  singles += result.singles;
  for (const cause of result.causes) causes.set(cause, (causes.get(cause) ?? 0) + 1);
  if (values.only !== undefined) for (const text of result.answers) process.stdout.write(`${text}\n`);
  if (values.only !== undefined)
    process.stdout.write(`${result.troubles.join(", ")}; ${result.causes.join(", ")}\n`);
  const judgement = values.live ? await judge(each) : undefined;
  if (judgement !== undefined) judged++;
  const violations = [...result.violations, ...(judgement ?? [])];
  if (violations.length === 0) continue;
  failed++;
  process.stdout.write(`--only ${each} (${result.troubles.join(", ")}; ${result.causes.join(", ")})\n`);
  for (const violation of violations) process.stdout.write(`  ${violation}\n`);
}
const counts = [...causes].sort(([, a], [, b]) => b - a).map(([cause, count]) => `${cause} ${count}`);
process.stdout.write(
  `${seeds.length} clusters, ${failed} with answers that are not true; ${changes} changes done, ${singles} tried where nothing helps${values.live ? `, ${judged} done with the real scheduler` : ""}\n`,
);
process.stdout.write(`causes: ${counts.join(", ")}\n`);
process.exitCode = failed === 0 ? 0 : 1;
