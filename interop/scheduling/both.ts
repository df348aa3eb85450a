/** kube-scheduler and our scheduler on one API server, each for pods of its own name. */

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { featuresOf, type Kind, type KubeObject, parseFeatureGates, parseKubernetesVersion } from "@dray/api";
import { Namespace, Node, ServiceAccount } from "@dray/api/core/v1";
import { type Client, systemClock } from "@dray/client";
import { startScheduler } from "@dray/scheduler";
import { eventually } from "@dray/testing/eventually";
import { freePort } from "@dray/testing/ports";
import { connect, Users } from "../credentials.ts";
import { peer } from "../peers.ts";
import { type Program, start } from "../processes.ts";
import { release } from "../release.ts";
import { startDray } from "../server.ts";

export interface BothOptions {
  /** Of the folder, and in texts. */
  readonly name: string;
  readonly keep: boolean;
  readonly print: (text: string) => void;
  /** As `--feature-gates` has them, for all components. */
  readonly gates?: string;
  /** As `--runtime-config` has it. */
  readonly versions?: string;
  /** Makes what is there before the schedulers start. */
  readonly prepare: (admin: Client) => Promise<void>;
}

/** Namespace of all pods. */
export const namespace = "compared";
/** Whose pods they are, and `spec.schedulerName`. */
export const sides = { theirs: "default-scheduler", ours: "ours" } as const;
export type Side = keyof typeof sides;

/** Runs `compare` while both schedulers run, and resolves to what it does. */
export async function withBoth<T>(options: BothOptions, compare: (admin: Client) => Promise<T>): Promise<T> {
  const { name, gates = "", versions, keep, print } = options;
  const folder = mkdtempSync(join(tmpdir(), `dray-${name}-`));
  const programs: Program[] = [];
  const stop = new AbortController();
  try {
    const flags = [
      ...(gates === "" ? [] : [`--feature-gates=${gates}`]),
      ...(versions === undefined ? [] : [`--runtime-config=${versions}`]),
    ];
    const server = await startDray(folder, { flags });
    programs.push(...server.programs);
    const users = new Users(folder, server.url, server.authority);
    const admin = await connect(await users.kubeconfig("interop-admin", ["system:masters"]));
    await eventually("the API server is ready", () => admin.text("GET", "/readyz").catch(() => undefined));
    await admin.resource(Namespace).create({ metadata: { name: namespace } } as Namespace);
    await create(admin, ServiceAccount, { metadata: { name: "default" } });
    await options.prepare(admin);
    const kubeconfig = await users.kubeconfig("system:kube-scheduler");
    programs.push(await startTheirs(folder, kubeconfig, flags.slice(0, gates === "" ? 0 : 1)));
    const client = await connect(kubeconfig);
    const ours = await startScheduler({
      client,
      clock: systemClock,
      log: { debug() {}, info() {}, warn() {}, error: (_fields, text) => print(`${name}: ${text}`) },
      newId: () => randomUUID(),
      random: Math.random,
      features: featuresOf(parseKubernetesVersion(release), parseFeatureGates(gates)),
      name: sides.ours,
      signal: stop.signal,
    });
    const result = await compare(admin);
    stop.abort();
    await ours.stopped;
    client.close();
    admin.close();
    if (keep) print(`${name}: logs are in ${folder}`);
    return result;
  } finally {
    stop.abort();
    for (const program of programs.toReversed()) await program.stop();
    if (!keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function startTheirs(folder: string, kubeconfig: string, more: readonly string[]): Promise<Program> {
  const port = await freePort();
  const kubeconfigs = ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"];
  const flags = [
    ...kubeconfigs.map((flag) => `${flag}=${kubeconfig}`),
    "--leader-elect=false",
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    ...more,
  ];
  return start("kube-scheduler", [peer("kube-scheduler"), ...flags], join(folder, "kube-scheduler.log"));
}

export interface Draft {
  readonly metadata: object;
  readonly [field: string]: unknown;
}

export async function create<T extends KubeObject>(admin: Client, kind: Kind<T>, object: Draft): Promise<T> {
  const metadata = kind.namespaced ? { namespace, ...object.metadata } : object.metadata;
  return admin.resource(kind).create({ ...object, metadata } as never);
}

export async function status<T extends KubeObject>(
  admin: Client,
  kind: Kind<T>,
  ref: { readonly namespace?: string; readonly name: string },
  fields: object,
): Promise<void> {
  await admin.resource(kind).patch(ref, "merge", { status: fields }, { subresource: "status" });
}

export async function createNode(admin: Client, name: string, labels: object, cpus: number): Promise<void> {
  await create(admin, Node, { metadata: { name, labels }, spec: {} });
  // Admission has tainted it as not ready.
  await admin.resource(Node).patch({ name }, "merge", { spec: { taints: null } });
  const allocatable = { cpu: `${cpus}`, memory: "16Gi", pods: "20" };
  await status(admin, Node, { name }, { capacity: allocatable, allocatable });
}

export const podSpec = (cpu: number, priority: number): object => ({
  priorityClassName: `p${priority}`,
  containers: [{ name: "c", image: "i", resources: { requests: { cpu: `${cpu}` } } }],
});
