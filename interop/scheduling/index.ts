/**
 * Random pods, one after the other, in a cluster of random nodes: what kube-scheduler makes of each, node by
 * node and plugin by plugin, must be what our plugins make of it. The pod goes where kube-scheduler puts it.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeJSON, featuresOf, type KubeObject, parseKubernetesVersion } from "@dray/api";
import { ReplicaSet } from "@dray/api/apps/v1";
import {
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Service,
  ServiceAccount,
} from "@dray/api/core/v1";
import { CSINode } from "@dray/api/storage/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { freePort } from "@dray/testing/ports";
import type { PluginArgs } from "../../packages/scheduler/src/plugins/args.ts";
import { connect, Users } from "../credentials.ts";
import { missingPeers, peer } from "../peers.ts";
import { type Program, start } from "../processes.ts";
import { release } from "../release.ts";
import { startDray } from "../server.ts";
import { configuration, randomArgs } from "./arguments.ts";
import { Maker, nodeDraft, type PodChoices, podDraft, storageDrafts } from "./objects.ts";
import { Judge, type Judgement } from "./our-scores.ts";
import { type Scores, scoresOf } from "./real-scores.ts";

export interface SchedulingOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly pods: number;
  readonly keep: boolean;
  readonly print: (text: string) => void;
}

const namespace = "scheduling";
/** Alpha, and part of what tolerations can say. */
const gate = "TaintTolerationComparisonOperators";
const gatesFlag = `--feature-gates=${gate}=true`;

export function schedulingObstacle(): string | undefined {
  return missingPeers(["kube-scheduler"]).length > 0
    ? "kube-scheduler missing (interop/build builds it)"
    : undefined;
}

/** Resolves to the number of pods of which the two made something different. */
export async function compareScheduling(options: SchedulingOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dray-scheduling-"));
  const programs: Program[] = [];
  try {
    const server = await startDray(folder, { flags: [gatesFlag] });
    programs.push(...server.programs);
    const users = new Users(folder, server.url, server.authority);
    const admin = await connect(await users.kubeconfig("interop-admin", ["system:masters"]));
    await eventually("the API server is ready", () => admin.text("GET", "/readyz").catch(() => undefined));
    const make = new Maker(options.seed);
    const args = randomArgs(make);
    const scheduler = await startScheduler(folder, await users.kubeconfig("system:kube-scheduler"), args);
    programs.push(scheduler);
    const different = await new Comparison({ admin, scheduler, make, args, options }).run();
    admin.close();
    if (options.keep) options.print(`scheduling: logs are in ${folder}`);
    return different;
  } finally {
    for (const program of programs.toReversed()) await program.stop();
    if (!options.keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function startScheduler(folder: string, kubeconfig: string, args: PluginArgs): Promise<Program> {
  const port = await freePort();
  const config = join(folder, "kube-scheduler.json");
  writeFileSync(config, encodeJSON(configuration(kubeconfig, args)));
  const as = ["--authentication-kubeconfig", "--authorization-kubeconfig"];
  const flags = [
    `--config=${config}`,
    ...as.map((flag) => `${flag}=${kubeconfig}`),
    "--bind-address=127.0.0.1",
    gatesFlag,
    `--secure-port=${port}`,
    // Scores of plugins are logged.
    "--v=10",
  ];
  return start("kube-scheduler", [peer("kube-scheduler"), ...flags], join(folder, "kube-scheduler.log"));
}

interface ComparisonParts {
  readonly admin: Client;
  readonly scheduler: Program;
  readonly make: Maker;
  readonly args: PluginArgs;
  readonly options: SchedulingOptions;
}

class Comparison {
  readonly #admin: Client;
  readonly #scheduler: Program;
  readonly #options: SchedulingOptions;
  readonly #make: Maker;
  readonly #args: PluginArgs;
  #read = 0;

  constructor({ admin, scheduler, make, args, options }: ComparisonParts) {
    this.#admin = admin;
    this.#scheduler = scheduler;
    this.#options = options;
    this.#make = make;
    this.#args = args;
  }

  async run(): Promise<number> {
    const { pods, print } = this.#options;
    const { judge, choices } = await this.#prepare();
    let different = 0;
    const tally = { scored: 0, placed: 0, refused: 0 };
    for (let i = 0; i < pods; i++) {
      const name = `p${i}`;
      const draft = podDraft(this.#make, name, choices) as { metadata: object };
      const pod = await this.#create<Pod>(Pod, { ...draft, metadata: { ...draft.metadata, namespace } });
      const outcome = await this.#outcome(name);
      const judgement = judge.judge(pod);
      const scores = scoresOf(this.#log(), `${namespace}/${name}`);
      const problem =
        typeof outcome === "string"
          ? wrongMessage(judgement, outcome)
          : wrongScores(judgement, outcome, scores);
      if (problem !== undefined) {
        different++;
        print(`scheduling: ${name}: ${problem}\n${JSON.stringify(draft)}`);
      }
      if (typeof outcome === "string") {
        tally.refused++;
        await this.#admin.resource(Pod).delete({ namespace, name }, { gracePeriodSeconds: 0 });
      } else {
        if (scores.size > 0) tally.scored++;
        else tally.placed++;
        judge.cache.setPod(outcome);
      }
    }
    print(
      `scheduling: seed ${this.#options.seed}: ${tally.scored} pods scored, ${tally.placed} with one node, ${tally.refused} refused, ${different} different`,
    );
    return different;
  }

  /** Returns the lines that kube-scheduler has logged since the last call. */
  #log(): string {
    const text = readFileSync(this.#scheduler.log, "utf8").slice(this.#read);
    this.#read += text.length;
    return text;
  }

  /** The pod with its node, or why it has none. */
  #outcome(name: string): Promise<Pod | string> {
    return eventually(`pod ${name} is scheduled or refused`, async () => {
      const pod = await this.#admin.resource(Pod).get({ namespace, name });
      if (pod.spec.nodeName) return pod;
      const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
      return condition?.status === "False" && (condition.message ?? "");
    });
  }

  async #create<T extends KubeObject>(kind: Parameters<Client["resource"]>[0], object: object): Promise<T> {
    return (await this.#admin.resource(kind).create(object as never)) as unknown as T;
  }

  /** Nodes, volumes and workloads, in the cluster and as our plugins look them up. */
  async #prepare(): Promise<{ judge: Judge; choices: PodChoices }> {
    const make = this.#make;
    const spaces = [
      await this.#create<Namespace>(Namespace, {
        metadata: { name: namespace, labels: { team: "one" } },
        spec: {},
      }),
      await this.#create<Namespace>(Namespace, {
        metadata: { name: "other", labels: { team: "two" } },
        spec: {},
      }),
    ];
    await this.#serviceAccount();
    const owners: { name: string; uid: string; app: string }[] = [];
    const sets: ReplicaSet[] = [];
    for (const app of ["a", "b"]) {
      const labels = { app };
      const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "small:1" }] } };
      const set = await this.#create<ReplicaSet>(ReplicaSet, {
        metadata: { name: `rs-${app}`, namespace },
        spec: { replicas: 0, selector: { matchLabels: labels }, template },
      });
      sets.push(set);
      owners.push({ name: set.metadata.name, uid: set.metadata.uid, app });
    }
    const service = await this.#create<Service>(Service, {
      metadata: { name: "front", namespace },
      spec: { selector: { tier: "front" }, clusterIP: "None" },
    });
    const volumes = new Map<string, PersistentVolume>();
    const claims = new Map<string, PersistentVolumeClaim>();
    for (const { name, volume, claim } of storageDrafts(make, 6)) {
      const made = await this.#create<PersistentVolume>(PersistentVolume, volume);
      volumes.set(made.metadata.name, made);
      const draft = claim as { metadata: object };
      claims.set(
        name,
        await this.#create(PersistentVolumeClaim, { ...draft, metadata: { ...draft.metadata, namespace } }),
      );
    }
    const csiNodes = new Map<string, CSINode>();
    const judge = new Judge(featuresOf(parseKubernetesVersion(release), new Map([[gate, true]])), {
      args: this.#args,
      namespaceLabels: (name) => spaces.find(({ metadata }) => metadata.name === name)?.metadata.labels,
      workloads: {
        services: (name) => (name === namespace ? [service] : []),
        replicationController: () => undefined,
        statefulSet: () => undefined,
        replicaSet: (_namespace, name) => sets.find(({ metadata }) => metadata.name === name),
      },
      volumes: {
        lookup: {
          claim: (_namespace, name) => claims.get(name),
          volume: (name) => volumes.get(name),
          volumesOf: () => [...volumes.values()],
          storageClass: () => undefined,
          csiNode: (name) => csiNodes.get(name),
          csiDriver: () => undefined,
          capacitiesOf: () => [],
          attachmentsOn: () => [],
        },
        // Nothing is bound.
        writer: {} as never,
      },
    });
    for (let i = 0; i < this.#options.nodes; i++) {
      const node = await this.#node(`n${i}`);
      judge.cache.setNode(node);
      if (make.chance(0.5)) csiNodes.set(`n${i}`, await this.#csiNode(node, make.int(1, 2)));
    }
    return { judge, choices: { claims: [...claims.keys()], owners } };
  }

  async #serviceAccount(): Promise<void> {
    await this.#create(ServiceAccount, { metadata: { name: "default", namespace } });
  }

  async #node(name: string): Promise<Node> {
    const { metadata, spec, status } = nodeDraft(this.#make, name);
    await this.#create(Node, { metadata, spec });
    const nodes = this.#admin.resource(Node);
    // Admission has tainted it as not ready.
    await nodes.patch({ name }, "merge", { spec });
    return nodes.patch({ name }, "merge", { status }, { subresource: "status" });
  }

  #csiNode({ metadata: { name, uid } }: Node, count: number): Promise<CSINode> {
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    const drivers = [{ name: "csi.example.com", nodeID: name, topologyKeys: null, allocatable: { count } }];
    return this.#create(CSINode, { metadata: { name, ownerReferences }, spec: { drivers } });
  }
}

function wrongMessage({ feasible, message }: Judgement, real: string): string | undefined {
  if (feasible.length > 0) return `kube-scheduler: ${real}\n  ours: fits ${feasible}`;
  return real.startsWith(message) ? undefined : `kube-scheduler: ${real}\n  ours: ${message}`;
}

function wrongScores({ feasible, scores, message }: Judgement, pod: Pod, real: Scores): string | undefined {
  // With one node that fits, nothing is scored.
  const fitting = real.size === 0 ? [pod.spec.nodeName ?? ""] : [...real.keys()].sort();
  if (fitting.join() !== feasible.join())
    return `kube-scheduler: fits ${fitting}\n  ours: fits ${feasible} ${message}`;
  if (real.size === 0) return undefined;
  const wrong: string[] = [];
  for (const [node, byPlugin] of real) {
    const own = scores.get(node) ?? new Map<string, number>();
    for (const plugin of new Set([...byPlugin.keys(), ...own.keys()])) {
      const [theirs, ours] = [byPlugin.get(plugin) ?? 0, own.get(plugin) ?? 0];
      if (theirs !== ours) wrong.push(`${plugin} of ${node}: kube-scheduler ${theirs}, ours ${ours}`);
    }
  }
  return wrong.length === 0 ? undefined : wrong.sort().join("\n  ");
}
