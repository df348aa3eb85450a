/**
 * ConfigMaps that change while many watch all of them: Dray's API server beside kube-apiserver on etcd, the
 * same load on both, in alternating rounds. Needs the peers that `interop/build` makes, and Go.
 */
import { join } from "node:path";
import { buildClients } from "../interop/go-clients.ts";
import { controlPlanePeers, missingPeers, peerVersion } from "../interop/peers.ts";
import { cpuTime, resident } from "../interop/processes.ts";
import type { Side } from "../interop/server.ts";
import { machine, markdown, median } from "./allocator/clock.ts";
import { playLoad, withServer } from "./api-servers.ts";

interface Round {
  /** Events to all watches, a second. */
  readonly perSecond: number;
  /** CPU microseconds of the API server and its store for each. */
  readonly cpu: number;
  /** Milliseconds from the last answer to a write until the last watch has seen it. */
  readonly lag: number;
  /** Resident MiB of the API server and its store at the end. */
  readonly memory: number;
}

/**
 * `WATCHERS`, `OBJECTS`, `EVENTS` to all watches and `ROUNDS` (25, 10,000, 1,000,000 and 1 if absent): gives
 * a table in Markdown. `--alone` leaves the peer out. `DRAY_PROFILE` names a folder for CPU profiles of
 * Dray's server.
 */
export async function churnBench(words: readonly string[]): Promise<string> {
  const alone = words.includes("--alone");
  const [watchers = 25, objects = 10_000, events = 1_000_000, rounds = 1] = words
    .filter((word) => word !== "--alone")
    .map(Number);
  const missing = alone ? [] : missingPeers(controlPlanePeers);
  if (missing.length > 0) return `not run: peers missing: ${missing.join(", ")} (interop/build builds them)`;
  const clients = buildClients();
  if (clients === undefined) return "not run: go missing";
  const changes = Math.ceil(events / watchers);
  const args = [`--watchers=${watchers}`, `--objects=${objects}`, `--changes=${changes}`];
  const measured: Record<Side, Round[]> = { dray: [], peer: [] };
  for (let round = 0; round < rounds; round++) {
    const sides: readonly Side[] = round % 2 === 0 ? ["dray", "peer"] : ["peer", "dray"];
    for (const side of alone ? (["dray"] as const) : sides)
      measured[side].push(await play(side, join(clients, "churn"), args));
  }
  return `Medians of ${rounds} rounds: ${watchers} watches, ${objects} ConfigMaps, ${changes * watchers} events, measured on ${machine}.

${table(measured, alone)}`;
}

const play = (side: Side, program: string, args: readonly string[]): Promise<Round> =>
  withServer(side, async ({ kubeconfig, programs }) => {
    let [before, cpu] = [0, 0];
    const last = await playLoad(program, args, kubeconfig, (pause) => {
      if (pause === "begin") before = cpuTime(programs);
      else cpu = cpuTime(programs) - before;
    });
    if (!last.startsWith("{")) throw new Error("the load program has failed");
    const { events, seconds, lag } = JSON.parse(last) as Record<"events" | "seconds" | "lag", number>;
    const memory = programs.reduce((sum, { pid }) => sum + resident(pid), 0);
    return { perSecond: events / seconds, cpu: (cpu * 1000) / events, lag: lag * 1000, memory };
  });

function table(measured: Record<Side, Round[]>, alone: boolean): string {
  const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
  const row = (title: string, value: (round: Round) => number, more: "better" | "worse"): string[] => {
    const dray = median(measured.dray.map(value));
    if (alone) return [title, shown(dray)];
    const peer = median(measured.peer.map(value));
    const ratio = more === "better" ? dray / peer : peer / dray;
    return [title, shown(dray), shown(peer), `${ratio.toPrecision(2)} ×`];
  };
  const peer = alone ? [] : [`kube-apiserver ${peerVersion("kube-apiserver")}, etcd`, "Dray is better by"];
  return markdown(
    ["churn", "Dray, SQLite", ...peer],
    [
      row("events per second", ({ perSecond }) => perSecond, "better"),
      row("CPU µs an event", ({ cpu }) => cpu, "worse"),
      row("ms behind the last write", ({ lag }) => lag, "worse"),
      row("MiB resident", ({ memory }) => memory, "worse"),
    ],
  );
}
