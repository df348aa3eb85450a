/** Checks what `dray explain` says of one random cluster by doing it. */
import type { Pod } from "@dray/api/core/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { Random } from "@dray/testing/random";
import type { Change, Explained, Wait } from "../../packages/dray/src/explain/data.ts";
import { explain } from "../../packages/dray/src/explain/explain.ts";
import { explainText } from "../../packages/dray/src/explain/print.ts";
import { Inventory } from "../../packages/dray/src/inventory/inventory.ts";
import { rightsOf } from "../../packages/dray/src/observe/rights.ts";
import { SimulatedCluster, truthFeatures } from "./cluster.ts";
import { doChange, type Part } from "./doing.ts";
import { mend } from "./mending.ts";
import { randomCase } from "./random-case.ts";
import { singleChanges } from "./singles.ts";

/** Result of one case. */
export interface CaseResult {
  readonly seed: number;
  readonly troubles: readonly string[];
  /** The causes in the order in which they were named and removed. */
  readonly causes: readonly string[];
  /** Changes that were done, and helped. */
  readonly changes: number;
  /** Single changes that were tried where none was suggested. */
  readonly singles: number;
  readonly violations: readonly string[];
  /** As `dray explain` prints them. */
  readonly answers: readonly string[];
}

export const subject = "s";
const maxSteps = 8;

export async function checkCase(seed: number): Promise<CaseResult> {
  const { objects, facts, troubles } = randomCase(new Random(seed));
  const cluster = new SimulatedCluster(objects, facts);
  await cluster.settle(subject);
  const check = new Check(cluster);
  try {
    await check.run();
  } catch (error) {
    check.violations.push(`exception: ${(error as Error).stack}`);
  }
  const { causes, changes, singles, violations, answers } = check;
  return { seed, troubles, causes, changes, singles, violations, answers };
}

/** How a cause is removed. */
type Remedy = (cluster: SimulatedCluster) => Promise<void>;

class Check {
  readonly causes: string[] = [];
  readonly violations: string[] = [];
  readonly answers: string[] = [];
  changes = 0;
  singles = 0;
  readonly #first: SimulatedCluster;

  constructor(first: SimulatedCluster) {
    this.#first = first;
  }

  /** Removes one named cause after the other, until the pod runs or nothing is suggested. */
  async run(): Promise<void> {
    let cluster = this.#first;
    const remedies: { readonly wait: Wait; readonly remedy: Remedy }[] = [];
    let before: Wait | undefined;
    for (let step = 0; step < maxSteps; step++) {
      if (podOf(cluster) === undefined) {
        if (remedies.length > 1) await this.#checkNeeded(remedies);
        return;
      }
      const answer = await explainIn(cluster);
      const [wait] = answer.waits;
      this.answers.push(explainText(answer, cluster.now));
      const runs = isDone(cluster);
      if (runs) {
        if (wait !== undefined) this.violations.push(`it runs, and explain says: ${answer.summary}`);
        if (remedies.length > 1) await this.#checkNeeded(remedies);
        return;
      }
      if (wait === undefined)
        return void this.violations.push(`it does not run, and explain says: ${answer.summary}`);
      if (before !== undefined && isSame(before, wait))
        return void this.violations.push(`removing the cause left it: ${wait.for}: ${wait.message}`);
      this.causes.push(wait.for);
      before = wait;
      const remedy = await this.#remedyOf(cluster, wait, answer);
      if (remedy === undefined) return;
      const next = cluster.clone();
      await remedy(next);
      remedies.push({ wait, remedy });
      cluster = next;
    }
    this.violations.push(`it does not run after ${maxSteps} causes: ${this.causes.join(", ")}`);
  }

  async #remedyOf(cluster: SimulatedCluster, wait: Wait, answer: Explained): Promise<Remedy | undefined> {
    const trial = cluster.clone();
    if (mend(trial, wait, subject))
      return async (other) => {
        mend(other, wait, subject);
        await other.settle(subject);
      };
    const { placement } = answer;
    if (placement === null || placement.fits !== null)
      return void this.violations.push(`no way to remove ${wait.for}: ${wait.message}`);
    const { changes } = placement;
    for (const change of changes) await this.#checkChange(cluster, change);
    const [first] = changes;
    if (first === undefined) {
      await this.#checkNothingHelps(cluster);
      return undefined;
    }
    return (other) => done(other, first);
  }

  async #checkChange(cluster: SimulatedCluster, change: Change): Promise<void> {
    const changed = cluster.clone();
    await done(changed, change);
    this.changes++;
    if (podOf(changed)?.spec.nodeName || isReserved(changed)) return;
    const { message = "?" } = podOf(changed)?.status?.conditions?.[0] ?? {};
    this.violations.push(`done, and it did not help: ${change.kind}: ${change.text}: ${message}`);
  }

  async #checkNothingHelps(cluster: SimulatedCluster): Promise<void> {
    for (const change of singleChanges(cluster, subject)) {
      const changed = cluster.clone();
      await done(changed, change);
      this.singles++;
      if (!podOf(changed)?.spec.nodeName) continue;
      this.violations.push(`nothing is suggested, and this helps: ${change.text}`);
      return;
    }
  }

  /** Reports causes without whose removal the pod runs, too. */
  async #checkNeeded(remedies: readonly { readonly wait: Wait; readonly remedy: Remedy }[]): Promise<void> {
    // A pod that is made again may come to another node, with causes of its own.
    if (remedies.some(({ wait }) => wait.for === "failure" || wait.for === "claim-unusable")) return;
    for (const left of remedies) {
      // It is named though other changes than the end of the victims let the pod run.
      if (left.wait.for === "preemption") continue;
      const cluster = this.#first.clone();
      try {
        for (const each of remedies) if (each !== left) await each.remedy(cluster);
      } catch {
        // A later remedy needs what an earlier one has made: the earlier was needed.
        continue;
      }
      if (isDone(cluster))
        this.violations.push(`it runs though this was not removed: ${left.wait.for}: ${left.wait.message}`);
    }
  }
}

const isSame = (a: Wait, b: Wait): boolean =>
  a.for === b.for && a.object === b.object && a.message === b.message;

async function done(cluster: SimulatedCluster, change: Part): Promise<void> {
  doChange(cluster, change, subject);
  await cluster.settle(subject);
}

/** undefined: it has been deleted. */
export const podOf = (cluster: SimulatedCluster): Pod | undefined =>
  cluster.find<Pod>("Pod", `default/${subject}`);

/** Reports whether the pod runs, or has been deleted. */
function isDone(cluster: SimulatedCluster): boolean {
  const pod = podOf(cluster);
  if (pod === undefined) return true;
  const { phase, containerStatuses = [] } = pod.status ?? {};
  if (phase !== "Running" || pod.metadata.deletionTimestamp !== undefined) return false;
  return containerStatuses.every(({ state }) => state?.waiting === undefined);
}

/** Its devices are its own, and their driver has to attach them. */
const isReserved = (cluster: SimulatedCluster): boolean => {
  const pod = podOf(cluster);
  return (
    pod !== undefined &&
    cluster
      .claimsOf(pod)
      .some(({ status }) => status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid) === true)
  );
};

export function explainIn(cluster: SimulatedCluster): Promise<Explained> {
  const world = cluster.world();
  const events = cluster.events.filter(({ involvedObject }) => involvedObject.name === subject);
  const surroundings = {
    isLive: true,
    events,
    podGroups: cluster.all<PodGroup>("PodGroup"),
    servesPodGroups: true,
    quotas: [],
    missing: [],
    storage: [],
  };
  return explain(
    { kind: "Pod", name: subject, namespace: "default", source: "truth" },
    { world, features: truthFeatures, surroundings, now: cluster.now },
    new Inventory(world, truthFeatures),
    rightsOf([], []),
  );
}
