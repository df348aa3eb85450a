/**
 * Dray's API server beside kube-apiserver on etcd: the same load, written in Go, on both, in alternating
 * rounds. Needs the peers that `interop/build` makes, and Go.
 */
import { join } from "node:path";
import { buildClients } from "../interop/go-clients.ts";
import { controlPlanePeers, missingPeers, peerVersion } from "../interop/peers.ts";
import { cpuTime, resident } from "../interop/processes.ts";
import type { Side } from "../interop/server.ts";
import { machine, markdown, median } from "./allocator/clock.ts";
import { playLoad, withServer } from "./api-servers.ts";

/** One stage of the load program; stages run one after the other. */
interface Stage {
  readonly name: string;
  readonly title: string;
  /** Requests that count; so many that all pods of the run are there where absent. */
  readonly count?: number;
  /** Requests before them, for a server that has been running for a while; none if absent. */
  readonly warm?: number;
  /** At a time; 16 if absent. */
  readonly workers?: number;
}

const stages: readonly Stage[] = [
  { name: "create", title: "create", warm: 2000 },
  { name: "get", title: "get", count: 3000, warm: 1000 },
  { name: "update", title: "update", count: 3000, warm: 1000 },
  { name: "patch", title: "strategic merge patch", count: 3000, warm: 1000 },
  { name: "apply", title: "server-side apply", count: 3000, warm: 1000 },
  { name: "list", title: "list of all pods, protobuf", count: 5, workers: 1 },
  { name: "list-json", title: "list of all pods, JSON", count: 5, workers: 1 },
  { name: "watch", title: "event to one of 1,000 watchers" },
];

/** 20 changes for each watcher, as the load program makes them. */
const watchEvents = 20_000;

interface Rate {
  readonly perSecond: number;
  /** CPU milliseconds of the API server and its store for each. */
  readonly cpu: number;
}

/** One round on one side. */
interface Round {
  readonly rates: ReadonlyMap<string, Rate>;
  /** Milliseconds from the start of the process until /readyz answers ok. */
  readonly ready: number;
  /**
   * Resident MiB of the API server with the pods loaded, before anything else is asked; and with its etcd.
   */
  readonly memory: number;
  readonly memoryWithStore: number;
}

/**
 * `PODS` and `ROUNDS` (10,000 and 3 if absent): gives a table in Markdown. `DRAY_PROFILE` names a folder for
 * CPU profiles of Dray's server.
 */
export async function apiserverBench([pods = "10000", rounds = "3"]: readonly string[]): Promise<string> {
  const missing = missingPeers(controlPlanePeers);
  if (missing.length > 0) return `not run: peers missing: ${missing.join(", ")} (interop/build builds them)`;
  const clients = buildClients();
  if (clients === undefined) return "not run: go missing";
  const load = join(clients, "load");
  const measured: Record<Side, Round[]> = { dray: [], peer: [] };
  for (let round = 0; round < Number(rounds); round++)
    for (const side of round % 2 === 0 ? (["dray", "peer"] as const) : (["peer", "dray"] as const))
      measured[side].push(await measure(side, load, pods));
  return table(measured, pods);
}

const measure = (side: Side, load: string, pods: string): Promise<Round> =>
  withServer(side, async ({ kubeconfig, programs, ready }) => {
    const rates = new Map<string, Rate>();
    let [memory, memoryWithStore] = [0, 0];
    for (const stage of stages) {
      rates.set(stage.name, await play(stage, Number(pods), { load, kubeconfig }, () => cpuTime(programs)));
      if (stage.name !== "create") continue;
      memory = resident(programs.at(-1)!.pid);
      memoryWithStore = programs.reduce((sum, { pid }) => sum + resident(pid), 0);
    }
    return { rates, ready, memory, memoryWithStore };
  });

/** Plays one stage; `cpu` reads the milliseconds that the servers have used so far. */
async function play(
  { name, count, warm = 0, workers = 16 }: Stage,
  pods: number,
  { load, kubeconfig }: { readonly load: string; readonly kubeconfig: string },
  cpu: () => number,
): Promise<Rate> {
  const first = Math.min(warm, Math.floor(pods / 5));
  const counted = Math.min(count ?? pods, pods - first);
  const args = [`--stage=${name}`, `--count=${counted}`, `--warm=${first}`, `--workers=${workers}`];
  let before = cpu();
  const last = await playLoad(load, args, kubeconfig, () => {
    before = cpu();
  });
  const perSecond = Number(last);
  if (!(perSecond > 0)) throw new Error(`the load program has failed at ${name}`);
  return { perSecond, cpu: (cpu() - before) / (name === "watch" ? watchEvents : counted) };
}

function table(measured: Record<Side, Round[]>, pods: string): string {
  const of = (side: Side, value: (round: Round) => number): number => median(measured[side].map(value));
  const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
  const row = (title: string, value: (round: Round) => number, more: "better" | "worse"): string[] => {
    const [dray, peer] = [of("dray", value), of("peer", value)];
    const ratio = more === "better" ? dray / peer : peer / dray;
    return [title, shown(dray), shown(peer), `${ratio.toPrecision(2)} ×`];
  };
  const faster = ({ name, title }: Stage): string[] =>
    row(`${title}, per second`, ({ rates }) => rates.get(name)?.perSecond ?? 0, "better");
  const cheaper = ({ name, title }: Stage): string[] =>
    row(`${title}, CPU ms`, ({ rates }) => rates.get(name)?.cpu ?? 0, "worse");
  const rows = [
    ...stages.flatMap((stage) => [faster(stage), cheaper(stage)]),
    row("MiB resident, all pods loaded", ({ memory }) => memory, "worse"),
    row("the same with etcd", ({ memoryWithStore }) => memoryWithStore, "worse"),
    row("ms from start to /readyz", ({ ready }) => ready, "worse"),
  ];
  const version = peerVersion("kube-apiserver");
  return `Medians of ${measured.dray.length} alternating rounds with ${pods} pods, measured on ${machine}.

${markdown(["", "Dray, SQLite", `kube-apiserver ${version}, etcd`, "Dray is better by"], rows)}`;
}
