/**
 * Nodes that are full of pods of random priorities, and a pod that needs room: kube-scheduler and ours, each
 * on nodes of its own that are made alike, must choose the same node and the same victims.
 */
import { Pod } from "@dray/api/core/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import {
  type BothOptions,
  create,
  createNode,
  namespace,
  podSpec,
  type Side,
  sides,
  status,
  withBoth,
} from "./both.ts";
import { Maker } from "./objects.ts";

export interface PreemptionOptions extends Pick<BothOptions, "keep" | "print"> {
  readonly seed: number;
  readonly cases: number;
}

const priorities = [0, 10, 20, 30];
const cpus = 8;

/** One case, made alike for both sides. */
interface Case {
  /** The pods of each node. */
  readonly nodes: readonly (readonly {
    readonly cpu: number;
    readonly priority: number;
    readonly app: number;
    /** Seconds. */
    readonly started: number;
  }[])[];
  /** Allowed disruptions of each app. */
  readonly budgets: readonly number[];
  readonly preemptor: { readonly cpu: number; readonly priority: number };
}

/** Resolves to the number of cases in which the two chose differently. */
export async function comparePreemption(options: PreemptionOptions): Promise<number> {
  const make = new Maker(options.seed);
  const cases = Array.from({ length: options.cases }, () => caseOf(make));
  return withBoth({ ...options, name: "preemption", prepare: (admin) => prepare(admin, cases) }, (admin) =>
    compare(admin, cases, options),
  );
}

function caseOf(make: Maker): Case {
  const nodes = Array.from({ length: make.int(2, 5) }, () => {
    const pods: Case["nodes"][number][number][] = [];
    for (let left = cpus; left > 0; left -= pods.at(-1)!.cpu)
      pods.push({
        cpu: Math.min(left, make.int(1, 4)),
        priority: make.pick(priorities),
        app: make.int(0, 2),
        // No two alike: kube-scheduler takes any of nodes between which nothing decides.
        started: make.int(0, 1e8),
      });
    return pods;
  });
  const budgets = [make.int(0, 2), make.int(0, 2)];
  return { nodes, budgets, preemptor: { cpu: make.int(1, cpus), priority: make.pick([20, 30, 100]) } };
}

async function prepare(admin: Client, cases: readonly Case[]): Promise<void> {
  for (const value of [...priorities, 100])
    await create(admin, PriorityClass, { metadata: { name: `p${value}` }, value });
  for (const [i, each] of cases.entries())
    for (const side of Object.keys(sides) as Side[]) await prepareCase(admin, `${side}-${i}`, side, each);
}

async function prepareCase(
  admin: Client,
  prefix: string,
  side: Side,
  { nodes, budgets, preemptor }: Case,
): Promise<void> {
  for (const [n, pods] of nodes.entries()) {
    const name = `${prefix}-n${n}`;
    await createNode(admin, name, { case: prefix }, cpus);
    for (const [p, { cpu, priority, app, started }] of pods.entries()) {
      const metadata = { name: `${name}-p${p}`, labels: { app: `${prefix}-${app}` } };
      await create(admin, Pod, { metadata, spec: { ...podSpec(cpu, priority), nodeName: name } });
      const startTime = new Date(started * 1000).toISOString().replace(".000", "");
      await status(admin, Pod, { namespace, name: metadata.name }, { phase: "Running", startTime });
    }
  }
  for (const [b, disruptionsAllowed] of budgets.entries()) {
    const name = `${prefix}-b${b}`;
    const selector = { matchLabels: { app: `${prefix}-${b}` } };
    await create(admin, PodDisruptionBudget, { metadata: { name }, spec: { minAvailable: 1, selector } });
    const counts = { disruptionsAllowed, currentHealthy: 5, desiredHealthy: 1, expectedPods: 5 };
    await status(admin, PodDisruptionBudget, { namespace, name }, counts);
  }
  await create(admin, Pod, {
    metadata: { name: `${prefix}-preemptor` },
    spec: {
      ...podSpec(preemptor.cpu, preemptor.priority),
      schedulerName: sides[side],
      nodeSelector: { case: prefix },
    },
  });
}

async function compare(
  admin: Client,
  cases: readonly Case[],
  { seed, print }: PreemptionOptions,
): Promise<number> {
  let different = 0;
  let helped = 0;
  for (const [i, each] of cases.entries()) {
    const theirs = await choiceOf(admin, `theirs-${i}`);
    const ours = await choiceOf(admin, `ours-${i}`);
    if (theirs !== "") helped++;
    if (ours === theirs) continue;
    different++;
    print(`preemption: theirs ${theirs || "none"}, ours ${ours || "none"}\n${JSON.stringify(each)}`);
  }
  print(`preemption: seed ${seed}: ${cases.length} cases, ${helped} with victims, ${different} different`);
  return different;
}

/** Node and victims as `n1: p0 p3`; "" without preemption. */
async function choiceOf(admin: Client, prefix: string): Promise<string> {
  const name = `${prefix}-preemptor`;
  const nominated = await eventually(`${name} is refused`, async () => {
    const { status: now } = await admin.resource(Pod).get({ namespace, name });
    const refused = now?.conditions?.some(
      ({ type, status: value }) => type === "PodScheduled" && value === "False",
    );
    return refused && (now?.nominatedNodeName ?? "none");
  });
  if (nominated === "none") return "";
  const victims = await eventually(`victims of ${name}`, async () => {
    const { items } = await admin.resource(Pod).list({ namespace });
    const gone = items.filter(
      ({ metadata, spec }) => spec.nodeName === nominated && metadata.deletionTimestamp !== undefined,
    );
    return gone.length > 0 && gone.map(({ metadata }) => metadata.name.slice(nominated.length + 1));
  });
  return `${nominated.slice(prefix.length + 1)}: ${victims.sort().join(" ")}`;
}
