/** Does the first change that `dray explain` suggests where the real scheduler runs. */
import { Random } from "@dray/testing/random";
import { explainIn, podOf, subject } from "./check.ts";
import { SimulatedCluster } from "./cluster.ts";
import { doChange } from "./doing.ts";
import { LiveCluster } from "./live.ts";
import { randomCase } from "./random-case.ts";

/**
 * Returns what is not so; undefined: the case is not for the scheduler, since its pod waits for something
 * else or nothing is suggested.
 */
export async function judge(seed: number): Promise<readonly string[] | undefined> {
  const { objects, facts } = randomCase(new Random(seed));
  const cluster = new SimulatedCluster(objects, facts);
  await cluster.settle(subject);
  const pod = podOf(cluster);
  if (pod === undefined || pod.spec.nodeName || facts.deadSchedulers.size > 0) return undefined;
  const { waits, placement } = await explainIn(cluster);
  const [change] = placement?.changes ?? [];
  if (!["devices", "nodes"].includes(waits[0]?.for ?? "") || placement === null || change === undefined)
    return undefined;
  const violations: string[] = [];
  const live = await LiveCluster.start(cluster);
  try {
    const before = await live.outcome([subject], ({ isPlaced, message }) => isPlaced || message !== "");
    if (before.isPlaced) violations.push(`the scheduler places it, and explain says: ${waits[0]!.message}`);
    const isAlone = pod.spec.schedulingGroup === undefined;
    if (isAlone && !before.message.startsWith(placement.message!))
      violations.push(`explain says ${placement.message}, and the scheduler says ${before.message}`);
    const changed = cluster.clone();
    doChange(changed, change, subject);
    changed.runControllers();
    await live.write(changed);
    // One of the others of its priority may be first.
    const names = [`default/${subject}`, ...change.rivals].map((name) => name.slice("default/".length));
    await live.outcome(names, ({ isPlaced }) => isPlaced);
  } catch (error) {
    violations.push(`${change.text}: ${(error as Error).message}`);
  } finally {
    await live.close();
  }
  return violations;
}
