/**
 * Nodes that are full of pods of random priorities, and a pod that needs room: kube-scheduler and ours, each on nodes of
 * its own that are made alike, must choose the same node and the same victims.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { featuresOf, type Kind, type KubeObject } from "@dray/api";
import { Namespace, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { type Client, systemClock } from "@dray/client";
import { startScheduler } from "@dray/scheduler";
import { randomFrom } from "../../packages/store/src/model.ts";
import { connect, Users } from "../credentials.ts";
import { eventually } from "../eventually.ts";
import { peer } from "../peers.ts";
import { freePorts, type Program, start } from "../processes.ts";
import { startServer } from "../server.ts";
import { Maker } from "./objects.ts";

export interface PreemptionOptions {
  readonly seed: number;
  readonly cases: number;
  readonly keep: boolean;
  readonly print: (text: string) => void;
}

const namespace = "preemption";
/** Whose pods they are, and `spec.schedulerName`. */
const sides = { theirs: "default-scheduler", ours: "ours" } as const;
type Side = keyof typeof sides;
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
  const folder = mkdtempSync(join(tmpdir(), "dray-preemption-"));
  const programs: Program[] = [];
  const stop = new AbortController();
  try {
    const server = await startServer("dray", folder);
    programs.push(...server.programs);
    const users = new Users(folder, server.url, server.authority);
    const admin = await connect(await users.kubeconfig("interop-admin", ["system:masters"]));
    await eventually("the API server is ready", () => admin.text("GET", "/readyz").catch(() => undefined));
    const make = new Maker(randomFrom(options.seed));
    const cases = Array.from({ length: options.cases }, () => caseOf(make));
    await prepare(admin, cases);
    const kubeconfig = await users.kubeconfig("system:kube-scheduler");
    programs.push(await startTheirs(folder, kubeconfig));
    const client = await connect(kubeconfig);
    const ours = await startScheduler({
      client,
      clock: systemClock,
      log: {
        debug() {},
        info() {},
        warn() {},
        error: (_fields, text) => options.print(`preemption: ${text}`),
      },
      newId: () => randomUUID(),
      random: Math.random,
      features: featuresOf("1.36"),
      name: sides.ours,
      signal: stop.signal,
    });
    const different = await compare(admin, cases, options);
    stop.abort();
    await ours.stopped;
    client.close();
    admin.close();
    return different;
  } finally {
    stop.abort();
    for (const program of programs.toReversed()) await program.stop();
    if (!options.keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function startTheirs(folder: string, kubeconfig: string): Promise<Program> {
  const [port] = await freePorts(1);
  const kubeconfigs = ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"];
  const flags = [
    ...kubeconfigs.map((flag) => `${flag}=${kubeconfig}`),
    "--leader-elect=false",
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
  ];
  return start("kube-scheduler", peer("kube-scheduler"), flags, join(folder, "kube-scheduler.log"));
}

function caseOf(make: Maker): Case {
  const nodes = Array.from({ length: make.number(2, 5) }, () => {
    const pods: Case["nodes"][number][number][] = [];
    for (let left = cpus; left > 0; left -= pods.at(-1)!.cpu)
      pods.push({
        cpu: Math.min(left, make.number(1, 4)),
        priority: make.pick(priorities),
        app: make.number(0, 2),
        // No two alike: kube-scheduler takes any of nodes between which nothing decides.
        started: make.number(0, 1e8),
      });
    return pods;
  });
  const budgets = [make.number(0, 2), make.number(0, 2)];
  return { nodes, budgets, preemptor: { cpu: make.number(1, cpus), priority: make.pick([20, 30, 100]) } };
}

async function prepare(admin: Client, cases: readonly Case[]): Promise<void> {
  await admin.resource(Namespace).create({ metadata: { name: namespace } } as Namespace);
  await create(admin, ServiceAccount, { metadata: { name: "default" } });
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
    await create(admin, Node, { metadata: { name, labels: { case: prefix } }, spec: {} });
    // Admission has tainted it as not ready.
    await admin.resource(Node).patch({ name }, "merge", { spec: { taints: null } });
    const allocatable = { cpu: `${cpus}`, memory: "16Gi", pods: "20" };
    await status(admin, Node, { name }, { capacity: allocatable, allocatable });
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

const podSpec = (cpu: number, priority: number): object => ({
  priorityClassName: `p${priority}`,
  containers: [{ name: "c", image: "i", resources: { requests: { cpu: `${cpu}` } } }],
});

interface Draft {
  readonly metadata: object;
  readonly [field: string]: unknown;
}

async function create<T extends KubeObject>(admin: Client, kind: Kind<T>, object: Draft): Promise<void> {
  const metadata = kind.namespaced ? { namespace, ...object.metadata } : object.metadata;
  await admin.resource(kind).create({ ...object, metadata } as never);
}

async function status<T extends KubeObject>(
  admin: Client,
  kind: Kind<T>,
  ref: { readonly namespace?: string; readonly name: string },
  fields: object,
): Promise<void> {
  await admin.resource(kind).patch(ref, "merge", { status: fields }, { subresource: "status" });
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
