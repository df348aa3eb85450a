/**
 * How fast pods with claims get nodes: `dray up` on SQLite beside kube-scheduler with kube-apiserver, etcd
 * and kube-controller-manager, the same load on both, in alternating rounds. Needs the peers that
 * `interop/build` makes, and Go.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { eventually } from "@dray/testing/eventually";
import { featureFlags, startControlPlane } from "../interop/control-plane.ts";
import { buildClients } from "../interop/go-clients.ts";
import { controlPlanePeers, missingPeers, peerVersion } from "../interop/peers.ts";
import { assertRuns, cpuTime, type Program, resident, start } from "../interop/processes.ts";
import { releaseFlag } from "../interop/release.ts";
import type { Side } from "../interop/server.ts";
import { program as drayProgram, environment } from "../scripts/clone.js";
import { machine, markdown, median } from "./allocator/clock.ts";
import { type Scenario, scenarios } from "./scheduling/workloads.ts";

interface Round {
  readonly perSecond: number;
  /**
   * Milliseconds of all processes of the control plane for each pod, from when it is created until all have
   * nodes.
   */
  readonly cpu: number;
  /** Milliseconds from the creation of a pod until it has a node. */
  readonly p50: number;
  readonly p99: number;
  /** Resident MiB of the control plane when all pods have nodes. */
  readonly memory: number;
}

interface Plane {
  readonly kubeconfig: string;
  readonly programs: readonly Program[];
  stop(): Promise<void>;
}

/**
 * `NAME...`: the scenarios of these names, or whose names hold them, all if absent; a number is how many
 * rounds (1). `--alone` leaves the peer out, whose programs need not be there then. `DRAY_PROFILE` names a
 * folder for CPU profiles of Dray.
 */
export async function schedulingBench(words: readonly string[]): Promise<string> {
  const alone = words.includes("--alone");
  const args = words.filter((word) => word !== "--alone");
  const missing = alone ? [] : missingPeers(controlPlanePeers);
  if (missing.length > 0)
    return `not run: peers missing: ${missing.join(", ")} (interop/build builds them; --alone runs without them)`;
  const clients = buildClients();
  if (clients === undefined) return "not run: go missing";
  const rounds = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 1);
  const names = args.filter((arg) => !/^\d+$/.test(arg));
  const isNamed = (part: string, name: string): boolean =>
    scenarios.some((each) => each.name === part) ? name === part : name.includes(part);
  const chosen = scenarios.filter(
    ({ name }) => names.length === 0 || names.some((part) => isNamed(part, name)),
  );
  if (chosen.length === 0)
    throw new Error(`no scenario; there are ${scenarios.map(({ name }) => name).join(", ")}`);
  const rows: string[][] = [];
  for (const scenario of chosen) {
    const measured: Record<Side, Round[]> = { dray: [], peer: [] };
    try {
      for (let round = 0; round < rounds; round++)
        for (const side of sides(round, alone)) {
          const one = await play(scenario, side, join(clients, "scheduling"));
          measured[side].push(one);
          // A row may take minutes, and all of them hours.
          process.stderr.write(`${scenario.name}, ${side}: ${JSON.stringify(one)}\n`);
        }
      rows.push(row(scenario, measured, alone));
    } catch (error) {
      // The others take hours, and are worth as much without it.
      rows.push([scenario.name, `failed: ${(error as Error).message}`]);
    }
  }
  const who = alone ? "Dray" : `Dray / Kubernetes ${peerVersion("kube-scheduler")}`;
  return `Medians of ${rounds} rounds, measured on ${machine}.

${markdown([who, "a second", "CPU ms each", "ms to a node, p50", "p99", "MiB resident"], rows)}`;
}

function sides(round: number, alone: boolean): readonly Side[] {
  if (alone) return ["dray"];
  return round % 2 === 0 ? ["dray", "peer"] : ["peer", "dray"];
}

async function play(scenario: Scenario, side: Side, player: string): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), "dray-bench-"));
  try {
    const file = join(folder, "workload.json");
    writeFileSync(file, JSON.stringify(scenario.make(scenario.nodes)));
    const plane = side === "dray" ? await startDrayUp(folder, scenario) : await startPeer(folder, scenario);
    try {
      const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
      const child = spawn(player, [`--workload=${file}`], { env, stdio: ["pipe", "pipe", "inherit"] });
      let [before, cpu] = [0, 0];
      let last = "";
      for await (const line of createInterface({ input: child.stdout })) {
        if (line === "begin") {
          before = cpuTime(plane.programs);
          child.stdin.write("\n");
        } else if (line === "end") cpu = cpuTime(plane.programs) - before;
        else last = line;
      }
      for (const program of plane.programs) assertRuns(program);
      if (last === "") throw new Error(`the load program has failed on the side of ${side}`);
      const { pods, seconds, p50, p99, twice } = JSON.parse(last) as Record<string, number>;
      if (twice !== 0) throw new Error(`${twice} devices were given twice`);
      const memory = plane.programs.reduce((sum, { pid }) => sum + resident(pid), 0);
      return { perSecond: pods! / seconds!, cpu: cpu / pods!, p50: p50!, p99: p99!, memory };
    } finally {
      await plane.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Everything in one process, as a person starts it; nodes are the load's. */
async function startDrayUp(folder: string, { gates = [], versions = [] }: Scenario): Promise<Plane> {
  const kubeconfig = join(folder, "data", "kubeconfig");
  const words = await drayProgram([
    "up",
    "--nodes=0",
    `--data-dir=${join(folder, "data")}`,
    releaseFlag,
    ...featureFlags(gates, versions),
  ]);
  const log = join(folder, "up.log");
  const env = { ...environment, ...process.env, KUBECONFIG: join(folder, "other") };
  const profile = process.env["DRAY_PROFILE"];
  const flags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const program = start("dray up", [process.execPath, ...process.execArgv, ...flags, ...words], log, env);
  await eventually("the cluster is ready", async () => {
    assertRuns(program);
    return readFileSync(log, "utf8").includes("is ready at");
  });
  return { kubeconfig, programs: [program], stop: () => program.stop() };
}

const startPeer = (folder: string, { gates = [], versions = [] }: Scenario): Promise<Plane> =>
  startControlPlane("peer", folder, {
    gates,
    versions,
    schedulerGates: ["SchedulerPreQueueingHints"],
    unlimited: true,
  });

/**
 * One workload: what Dray needs, and unless it is alone what Kubernetes needs and how much better Dray is.
 */
function row({ name, unit = "pod" }: Scenario, measured: Record<Side, Round[]>, alone: boolean): string[] {
  const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
  const cell = (value: (round: Round) => number, more: "better" | "worse"): string => {
    const dray = median(measured.dray.map(value));
    if (alone) return shown(dray);
    const peer = median(measured.peer.map(value));
    const ratio = more === "better" ? dray / peer : peer / dray;
    return `${shown(dray)} / ${shown(peer)}: ${ratio.toPrecision(2)} ×`;
  };
  const latency = (value: (round: Round) => number): string => (unit === "pod" ? cell(value, "worse") : "");
  return [
    name,
    cell(({ perSecond }) => perSecond, "better"),
    cell(({ cpu }) => cpu, "worse"),
    latency(({ p50 }) => p50),
    latency(({ p99 }) => p99),
    cell(({ memory }) => memory, "worse"),
  ];
}
