/**
 * `npm run interop`: the real kube-controller-manager and kube-scheduler on Dray's API server. Plays
 * scenarios there and on kube-apiserver, and compares how they end and what the components log. See
 * README.md.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAgent } from "./agent.ts";
import { startControlPlane } from "./control-plane.ts";
import { runDrivers, stopDrivers } from "./drivers/index.ts";
import { runExamples } from "./examples.ts";
import { buildClients, runClients } from "./go-clients.ts";
import { failures, type LineCounts } from "./log-lines.ts";
import { readOptions } from "./options.ts";
import { controlPlanePeers, missingPeers } from "./peers.ts";
import { type Outcome, play, startNodes } from "./play.ts";
import { knownLines, type SideResult, verdict, writeReport, writeSuiteReport } from "./report.ts";
import { scenarios } from "./scenarios/index.ts";
import { compareGangs } from "./scheduling/gangs.ts";
import { compareScheduling, schedulingObstacle } from "./scheduling/index.ts";
import { comparePreemption } from "./scheduling/preemption.ts";
import type { Side } from "./server.ts";
import { strangeErrors } from "./suites/component-errors.ts";
import { type ConformanceSuite, knownFailuresFile } from "./suites/kinds.ts";
import { nodeSuiteObstacle, runNodeSuite } from "./suites/node-suite.ts";
import { complaints, readKnownFailures, type SuiteResult, summary } from "./suites/report.ts";
import { runSuite, type SuiteOptions, suiteObstacle } from "./suites/suite.ts";
import type { SuiteKind } from "./suites/suite-section.ts";
import { fightForDevices, twoSchedulersObstacle } from "./two-schedulers.ts";

const options = (() => {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`interop: ${(error as Error).message}\n`);
    process.exit(2);
  }
})();

// Ends as if by itself, so that no program is left behind.
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stopDrivers().finally(() => process.exit(1)));

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const components = ["kube-controller-manager", "kube-scheduler"] as const;

async function run(side: Side, clients: string | undefined): Promise<SideResult> {
  const folder = mkdtempSync(join(tmpdir(), `dray-interop-${side}-`));
  const report = (outcome: Outcome): void => {
    const result = outcome.failure === undefined ? "ok" : `FAILED: ${outcome.failure}`;
    print(`${side}: ${outcome.name}: ${result} (${outcome.seconds.toFixed(1)} s)`);
  };
  const chosen = scenarios.filter(({ name }) => options.only?.test(name) ?? true);
  const outcomes: Outcome[] = [];
  let rounds = 0;
  const trouble: string[] = [];
  const started = performance.now();
  const plane = await startControlPlane(side, folder);
  try {
    const nodes = await startNodes(plane, options.nodes);
    try {
      do {
        const how = { jobs: options.jobs, round: rounds++, ended: report };
        const played = await play(plane, nodes, chosen, how);
        for (const outcome of played) merge(outcomes, outcome);
      } while (performance.now() - started < options.minutes * 60_000);
      if (clients !== undefined) {
        const agent = await startAgent(plane, folder);
        try {
          outcomes.push(...(await runClients(clients, plane.kubeconfig, report)));
        } finally {
          await agent.stop();
          trouble.push(...agent.failures);
        }
      }
    } finally {
      for (const node of nodes) await node.stop();
      trouble.push(...nodes.flatMap((node) => node.failures));
    }
    for (const { name, ended } of plane.programs)
      if (ended !== undefined) outcomes.push({ name: `${name} keeps running`, seconds: 0, failure: ended });
  } finally {
    await plane.stop();
  }
  for (const failure of trouble) print(`${side}: node: ${failure}`);
  const seconds = (performance.now() - started) / 1000;
  const lines = new Map<string, LineCounts>();
  for (const name of components) lines.set(name, failures(readFileSync(join(folder, `${name}.log`), "utf8")));
  if (options.keep) print(`${side}: logs are in ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
  return { side, outcomes, rounds, seconds, lines, trouble };
}

/** Keeps one outcome of each scenario: the first failure, else the slowest. */
function merge(outcomes: Outcome[], outcome: Outcome): void {
  const at = outcomes.findIndex(({ name }) => name === outcome.name);
  const old = outcomes[at];
  if (old === undefined) outcomes.push(outcome);
  else if (old.failure === undefined && (outcome.failure !== undefined || outcome.seconds > old.seconds))
    outcomes[at] = outcome;
}

/** Plays the scenarios; reports whether they ended as they should. */
async function playScenarios(): Promise<boolean> {
  // The examples of tests in other languages need nothing but Dray.
  const examples = await (options.sides.includes("dray")
    ? runExamples(options.only, ({ name, seconds, failure }) =>
        print(
          `dray: ${name}: ${failure === undefined ? "ok" : `FAILED: ${failure}`} (${seconds.toFixed(1)} s)`,
        ),
      )
    : []);
  const examplesPassed = examples.every(({ failure }) => failure === undefined);
  const missing = missingPeers(controlPlanePeers);
  if (missing.length > 0) {
    print(`not run: peers missing: ${missing.join(", ")} (interop/build builds them)`);
    return examplesPassed;
  }
  const clients = options.only === undefined ? buildClients() : undefined;
  if (clients === undefined && options.only === undefined) print("the Go clients are not run: go missing");
  const results: SideResult[] = [];
  for (const side of options.sides) results.push(await run(side, clients));
  const { text, passed } = verdict(results, knownLines());
  print(text);
  if (options.write) writeReport(results);
  return passed && examplesPassed;
}

/** A suite of upstream's: why it cannot run, and what runs it. */
interface Suite {
  obstacle(): string | undefined;
  run(options: SuiteOptions): Promise<SuiteResult>;
}

/** Runs a suite of upstream's; reports whether just those specs failed that are known to. */
async function playSuite(kind: SuiteKind | ConformanceSuite, suite: Suite): Promise<boolean> {
  const obstacle = suite.obstacle();
  if (obstacle !== undefined) {
    print(`${kind}: not run: ${obstacle}`);
    return true;
  }
  const known = readKnownFailures(readFileSync(join(import.meta.dirname, knownFailuresFile(kind)), "utf8"));
  const { only, specJobs: jobs, keep } = options;
  const result = await suite.run({ only, jobs, keep, print });
  const wrong = complaints(result, known, only !== undefined);
  if (!kind.endsWith("-peer"))
    for (const { component, line, count } of strangeErrors(result.errors ?? new Map()))
      print(`${kind}: ${component} has logged ${count} times, and never on kube-apiserver: ${line}`);
  for (const text of wrong) print(`${kind}: ${text}`);
  print(`${kind}: ${summary(result, known)}`);
  if (options.write && only === undefined) writeSuiteReport(kind, result, known);
  return wrong.length === 0;
}

/**
 * Compares preemption, gangs and the scores of random pods, in clusters of other seeds until the time is
 * over.
 */
async function playScheduling(): Promise<boolean> {
  const obstacle = schedulingObstacle();
  if (obstacle !== undefined) {
    print(`scheduling: not run: ${obstacle}`);
    return true;
  }
  const end = performance.now() + options.minutes * 60_000;
  const { keep } = options;
  let seed = options.seed ?? Math.floor(Math.random() * 1e6);
  let different = 0;
  do {
    different += await comparePreemption({ seed, cases: 30, keep, print });
    different += await compareGangs({ seed, cases: 30, keep, print });
    different += await compareScheduling({ seed: seed++, nodes: 12, pods: 100, keep, print });
  } while (performance.now() < end);
  return different === 0;
}

/** Two schedulers fight for devices; reports whether no device was given twice where that must not be. */
async function playTwoSchedulers(): Promise<boolean> {
  const obstacle = twoSchedulersObstacle();
  if (obstacle !== undefined) {
    print(`two-schedulers: not run: ${obstacle}`);
    return true;
  }
  const { minutes, keep } = options;
  return (await fightForDevices({ minutes, keep, print })) === 0;
}

const passed: boolean[] = [];
if (options.scenarios) passed.push(await playScenarios());
for (const kind of options.suites)
  passed.push(
    await playSuite(kind, { obstacle: () => suiteObstacle(kind), run: (given) => runSuite(kind, given) }),
  );
if (options.node)
  passed.push(await playSuite("dra-node", { obstacle: nodeSuiteObstacle, run: runNodeSuite }));
if (options.drivers) {
  const outcomes = await runDrivers({ only: options.only, keep: options.keep, print });
  passed.push(outcomes.every(({ failure }) => failure === undefined));
}
if (options.scheduling) passed.push(await playScheduling());
if (options.twoSchedulers) passed.push(await playTwoSchedulers());
process.exit(passed.every(Boolean) ? 0 : 1);
