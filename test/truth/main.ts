/**
 * `npm run truth -- [--cases N] [--seed N] [--only SEED] [--live]`: makes random clusters in which a pod
 * waits, is stuck or has ended, asks `dray explain`, does what it says and looks whether the pod runs. Prints
 * each answer that was not true with the seed that repeats it, and exits with 1 if there was any. With
 * `--live` the real scheduler judges the first suggested change, too.
 * `--headroom` compares the headroom of `dray top` with the most claims that the allocator can place instead.
 */
import { parseArgs } from "node:util";
import { checkCase } from "./check.ts";
import { checkHeadroom } from "./headroom.ts";
import { judge } from "./second-judge.ts";

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    headroom: { type: "boolean", default: false },
    live: { type: "boolean", default: false },
  },
});
const [cases, seed] = [Number(values.cases), Number(values.seed)];
const seeds =
  values.only === undefined ? Array.from({ length: cases }, (_, i) => seed + i) : [Number(values.only)];
process.exitCode = (values.headroom ? judgeHeadroom() : await judgeAnswers()) === 0 ? 0 : 1;

/** Returns the number of fleets with an answer that is not true. */
function judgeHeadroom(): number {
  let [compared, lowerBounds, skipped, failed] = [0, 0, 0, 0];
  for (const each of seeds) {
    const result = checkHeadroom(each);
    compared += result.compared;
    lowerBounds += result.lowerBounds;
    skipped += result.skipped;
    if (result.violations.length > 0) failed++;
    for (const violation of result.violations) process.stdout.write(`--only ${each}: ${violation}\n`);
  }
  process.stdout.write(
    `${seeds.length} fleets, ${failed} with headroom that is not true; ${compared} answers compared, ${lowerBounds} of them "at least"; ${skipped} not compared\n`,
  );
  return failed;
}

/** Returns the number of clusters with an answer that is not true. */
async function judgeAnswers(): Promise<number> {
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
  return failed;
}
