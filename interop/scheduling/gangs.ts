/**
 * Nodes that are full of pods, some of them in groups, and gangs that need room: kube-scheduler and ours,
 * each on nodes of its own that are made alike, must say the same of each gang, nominate the same nodes and
 * choose the same victims. Each pod of a gang is held to a node: between equally good nodes both may take
 * any.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Pod } from "@dray/api/core/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { create, createNode, namespace, podSpec, type Side, sides, status, withBoth } from "./both.ts";
import { Maker } from "./objects.ts";
import type { PreemptionOptions } from "./preemption.ts";

const priorities = [0, 10, 20, 30];
const cpus = 8;
const groups = 3;
/** Milliseconds in which a scheduler sees a new pod. */
const seen = 500;

/** One case, made alike for both sides. */
interface Case {
  /** The groups of pods that run. */
  readonly groups: readonly { readonly priority: number; readonly mode: "single" | "all" }[];
  /** The pods of each node. `group`: which they belong to; undefined: none. */
  readonly nodes: readonly (readonly {
    readonly cpu: number;
    readonly priority: number;
    readonly group: number | undefined;
    readonly app: number;
    /** Seconds. */
    readonly started: number;
  }[])[];
  /** Allowed disruptions of each app. */
  readonly budgets: readonly number[];
  readonly gang: {
    readonly priority: number;
    readonly cpu: number;
    /** The node of each pod. */
    readonly nodes: readonly number[];
  };
}

/** Resolves to the number of gangs of which the two made something different. */
export async function compareGangs(options: PreemptionOptions): Promise<number> {
  const make = new Maker(options.seed);
  const cases = Array.from({ length: options.cases }, () => caseOf(make));
  const gates = "GenericWorkload=true";
  const versions = "scheduling.k8s.io/v1beta1=true";
  return withBoth(
    { ...options, name: "gangs", gates, versions, prepare: (admin) => prepare(admin, cases) },
    (admin) => compare(admin, cases, options),
  );
}

function caseOf(make: Maker): Case {
  const ofGroups = Array.from({ length: groups }, () => ({
    priority: make.pick(priorities),
    mode: make.pick(["single", "all"] as const),
  }));
  const nodes = Array.from({ length: make.int(2, 4) }, () => {
    const pods: Case["nodes"][number][number][] = [];
    for (let left = cpus; left > 0; left -= pods.at(-1)!.cpu) {
      const group = make.chance(0.5) ? make.int(0, groups - 1) : undefined;
      pods.push({
        cpu: Math.min(left, make.int(1, 4)),
        priority: group === undefined ? make.pick(priorities) : ofGroups[group]!.priority,
        group,
        app: make.int(0, 2),
        started: make.int(0, 1e8),
      });
    }
    return pods;
  });
  const count = make.int(1, 4);
  return {
    groups: ofGroups,
    nodes,
    budgets: [make.int(0, 2), make.int(0, 2)],
    gang: {
      priority: make.pick([20, 30, 100]),
      // All alike: kube-scheduler tries them in any order.
      cpu: make.int(1, 5),
      nodes: Array.from({ length: count }, () => make.int(0, nodes.length - 1)),
    },
  };
}

async function prepare(admin: Client, cases: readonly Case[]): Promise<void> {
  for (const value of [...priorities, 100])
    await create(admin, PriorityClass, { metadata: { name: `p${value}` }, value });
  for (const [i, each] of cases.entries())
    for (const side of Object.keys(sides) as Side[]) await prepareCase(admin, `${side}-${i}`, each);
}

async function prepareCase(admin: Client, prefix: string, made: Case): Promise<void> {
  for (const [g, { priority, mode }] of made.groups.entries())
    await create(admin, PodGroup, {
      metadata: { name: `${prefix}-g${g}` },
      spec: {
        schedulingPolicy: { basic: {} },
        disruptionMode: { [mode]: {} },
        priorityClassName: `p${priority}`,
      },
    });
  for (const [n, pods] of made.nodes.entries()) {
    const nodeName = `${prefix}-n${n}`;
    await createNode(admin, nodeName, { own: nodeName }, cpus);
    for (const [p, { cpu, priority, group, app, started }] of pods.entries()) {
      const name = `${nodeName}-p${p}`;
      const schedulingGroup =
        group === undefined ? {} : { schedulingGroup: { podGroupName: `${prefix}-g${group}` } };
      await create(admin, Pod, {
        metadata: { name, labels: { app: `${prefix}-${app}` } },
        spec: { ...podSpec(cpu, priority), ...schedulingGroup, nodeName },
      });
      const startTime = new Date(started * 1000).toISOString().replace(".000", "");
      await status(admin, Pod, { namespace, name }, { phase: "Running", startTime });
    }
  }
  for (const [b, disruptionsAllowed] of made.budgets.entries()) {
    const name = `${prefix}-b${b}`;
    const selector = { matchLabels: { app: `${prefix}-${b}` } };
    await create(admin, PodDisruptionBudget, { metadata: { name }, spec: { minAvailable: 1, selector } });
    const counts = { disruptionsAllowed, currentHealthy: 5, desiredHealthy: 1, expectedPods: 5 };
    await status(admin, PodDisruptionBudget, { namespace, name }, counts);
  }
}

/** Its pods wait for the group: they are tried when all are there. */
async function createGang(admin: Client, prefix: string, side: Side, { gang }: Case): Promise<void> {
  const { priority, cpu, nodes } = gang;
  // With a smaller minimum kube-scheduler may place some before it has seen all.
  const minCount = nodes.length;
  for (const [i, node] of nodes.entries())
    await create(admin, Pod, {
      metadata: { name: `${prefix}-gang-${i}` },
      spec: {
        ...podSpec(cpu, priority),
        schedulerName: sides[side],
        schedulingGroup: { podGroupName: `${prefix}-gang` },
        nodeSelector: { own: `${prefix}-n${node}` },
      },
    });
  // The schedulers see pods and groups by two watches.
  await sleep(seen);
  await create(admin, PodGroup, {
    metadata: { name: `${prefix}-gang` },
    spec: { schedulingPolicy: { gang: { minCount } }, priorityClassName: `p${priority}` },
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
    for (const side of Object.keys(sides) as Side[]) await createGang(admin, `${side}-${i}`, side, each);
    const theirs = await outcomeOf(admin, `theirs-${i}`, each.gang.nodes.length);
    const ours = await outcomeOf(admin, `ours-${i}`, each.gang.nodes.length);
    if (/victims: \w/.test(theirs)) helped++;
    if (ours === theirs) continue;
    different++;
    print(`gangs: theirs:\n${theirs}\nours:\n${ours}\n${JSON.stringify(each)}`);
  }
  print(`gangs: seed ${seed}: ${cases.length} gangs, ${helped} with victims, ${different} different`);
  return different;
}

/**
 * kube-scheduler 1.37 may take a gang before all its pods are in its queue. Then it tries none of them, its
 * plugin misses what it would have noted of them, and the gang is tried again after a while.
 */
const tooSoon = 'error in "DynamicResources" PodGroupPostFilter plugins: not found';
const done = /pod group preemption: found a placement for podgroup, preempting (\d+) victims/;

/** Outcome for a gang: its condition, its pods and its victims. */
async function outcomeOf(admin: Client, prefix: string, count: number): Promise<string> {
  const gang = `${prefix}-gang`;
  const text = await eventually(`${gang} has its condition`, async () => {
    const { status: now } = await admin.resource(PodGroup).get({ namespace, name: gang });
    const found = now?.conditions?.find(({ type }) => type === "PodGroupInitiallyScheduled");
    return found && found.message !== tooSoon && `${found.status} ${found.reason} ${found.message}`;
  });
  const wanted = Number(done.exec(text)?.[1] ?? 0);
  return eventually(`${gang} and its ${wanted} victims`, async () => {
    const { items } = await admin.resource(Pod).list({ namespace });
    const own = items.filter(({ metadata }) => metadata.name.startsWith(`${prefix}-`));
    const victims = own.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const members = own.filter(({ metadata }) => metadata.name.startsWith(`${gang}-`));
    const areAllReported = members.every(
      ({ spec, status: now }) =>
        spec.nodeName !== undefined || now?.conditions?.some(({ type }) => type === "PodScheduled"),
    );
    if (members.length !== count || !areAllReported || victims.length < wanted) return false;
    const nodes = members.map(
      ({ spec, status: now }) => spec.nodeName ?? `${now?.nominatedNodeName ?? "none"}?`,
    );
    const gone = victims.map(({ metadata }) => metadata.name);
    const lines = [steady(text), `nodes: ${nodes.sort().join(" ")}`, `victims: ${gone.sort().join(" ")}`];
    return lines.join("\n").replaceAll(`${prefix}-`, "");
  });
}

/**
 * Removes the parts of a message that differ from run to run. The number of pods that were tried before too
 * few could fit depends on their order. A further attempt while the victims leave has a message of its own.
 * kube-scheduler also reports freed claims if no claims exist.
 */
const steady = (text: string): string =>
  text
    .replaceAll(/(minCount \(\d+\) cannot be satisfied): \d+ scheduled, \d+ remaining/g, "$1")
    .replace("deallocation and deletion of ResourceClaims completed, ", "")
    .replace(/pod group preemption: (found a placement|ongoing).*/, "pod group preemption: done");
