/**
 * Upstream's end-to-end specs, those for DRA and those of Conformance, with real kubelets or with our own
 * nodes.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  conformancePeers,
  controlPlanePeers,
  missingPeers,
  nodePeers,
  type Peer,
  peer,
  suitePeers,
} from "../peers.ts";
import { resident, start } from "../processes.ts";
import { gatesFlag, versionsFlag } from "../release.ts";
import type { Side } from "../server.ts";
import { draParts, type SuiteCluster, type SuiteClusterOptions, startCluster } from "./clusters.ts";
import { missingPrograms } from "./commands.ts";
import { componentErrors } from "./component-errors.ts";
import { startDrayCluster } from "./dray-cluster.ts";
import { makeImages, suiteImagePrograms } from "./images.ts";
import type { ClusterSuite } from "./kinds.ts";
import { networkPlugins, nodePrograms, servicePrograms } from "./nodes.ts";
import { readReport, type SuiteResult } from "./report.ts";

interface Definition {
  /** Which specs, as a label filter of ginkgo. */
  readonly labels: string;
  readonly nodes: number;
  /** Specs at a time unless the user says. */
  readonly jobs: number;
  readonly start: (options: SuiteClusterOptions) => Promise<SuiteCluster>;
  /** Whether nodes are ours without kubelet or containerd. */
  readonly isOwn?: boolean;
  readonly peers?: readonly Peer[];
  readonly programs?: readonly string[];
  readonly conformance?: boolean;
}

/**
 * All specs of DRA, those of gates that are off by default too. Two of them take two nodes, and one three.
 */
const dra = (start: Definition["start"]): Definition => ({ labels: "DRA", nodes: 3, jobs: 6, start });

// The last three go into images of the suite.
const conformancePrograms = [...servicePrograms, "curl", "dig", "nc"] as const;

/** Ginkgo runs Serial specs one at a time, after all others. */
const conformance = (server: Side, components: Side, labels = "Conformance"): Definition => ({
  labels,
  nodes: 2,
  jobs: 8,
  start: (options) => startCluster({ server, components, agent: "kubelet", services: true }, options),
  peers: [...conformancePeers, ...(components === "peer" ? controlPlanePeers : [])],
  programs: conformancePrograms,
  conformance: true,
});

const nodeConformance = "NodeConformance";

const definitions: Readonly<Record<ClusterSuite, Definition>> = {
  dra: dra((options) => startCluster(draParts("kubelet"), options)),
  "dra-oci": {
    ...dra((options) => startDrayCluster(options, gatesFlag, versionsFlag)),
    isOwn: true,
  },
  "dra-cri": dra((options) => startCluster(draParts("cri"), options)),
  conformance: conformance("dray", "peer"),
  "conformance-dray": conformance("dray", "dray"),
  "conformance-peer": conformance("peer", "peer"),
  "node-conformance": {
    labels: nodeConformance,
    nodes: 2,
    jobs: 8,
    start: startDrayCluster,
    isOwn: true,
    peers: conformancePeers,
    programs: conformancePrograms,
    conformance: true,
  },
  "node-conformance-peer": conformance("peer", "peer", nodeConformance),
};

export interface SuiteOptions {
  /** Specs whose names it finds; all if undefined. */
  readonly only: RegExp | undefined;
  /** Specs at a time; undefined: as many as suit the suite. */
  readonly jobs: number | undefined;
  readonly keep: boolean;
  readonly print: (text: string) => void;
}

/** Reports why the suite cannot run here; undefined if it can. */
export function suiteObstacle(kind: ClusterSuite): string | undefined {
  const { isOwn = false, peers: more = [], programs: further = [] } = definitions[kind];
  const peers = missingPeers([...suitePeers, ...(isOwn ? [] : nodePeers), ...more]);
  if (peers.length > 0) return `peers missing: ${peers.join(", ")} (interop/build builds them)`;
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "real nodes need Linux and root";
  const programs = missingPrograms([...nodePrograms, ...suiteImagePrograms, ...further]);
  if (programs.length > 0) return `programs missing: ${programs.join(", ")}`;
  if (!isOwn && !networkPlugins.some((folder) => existsSync(join(folder, "bridge"))))
    return `network plugins missing: none in ${networkPlugins.join(" or ")} (Debian: containernetworking-plugins)`;
  return undefined;
}

/** Runs the suite against a cluster of this kind. */
export async function runSuite(
  kind: ClusterSuite,
  { only, jobs, keep, print }: SuiteOptions,
): Promise<SuiteResult> {
  const definition = definitions[kind];
  const { nodes } = definition;
  const folder = mkdtempSync(join(tmpdir(), "dray-interop-suite-"));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  // For any cause of the exit: the images of the nodes take gigabytes.
  if (!keep) process.once("exit", removeFolder);
  let cluster: SuiteCluster | undefined;
  try {
    const images = makeImages(join(folder, "images"), definition.conformance);
    cluster = await definition.start({ folder, images, nodes });
    const log = join(folder, "e2e.log");
    print(`${kind}: ${nodes} nodes are ready; upstream's suite runs for 10 minutes and more: ${log}`);
    const { labels } = definition;
    const run = { only, labels, nodes, jobs: jobs ?? definition.jobs, folder, log };
    const result = await runSpecs({ ...run, kubeconfig: cluster.kubeconfig });
    const ended = cluster.programs.flatMap(({ name, ended }) =>
      ended === undefined ? [] : [{ name: `${name} keeps running`, seconds: 0, failure: ended }],
    );
    const memory = cluster.server?.reduce((sum, { pid, ended }) => sum + (ended ? 0 : resident(pid)), 0);
    const errors = componentErrors(cluster.programs);
    return { ...result, errors, specs: [...result.specs, ...ended], ...(memory && { memory }) };
  } finally {
    await cluster?.stop();
    if (keep) print(`${kind}: logs are in ${folder}`);
    else {
      process.off("exit", removeFolder);
      removeFolder();
    }
  }
}

interface Run {
  readonly only: RegExp | undefined;
  readonly labels: string;
  readonly nodes: number;
  readonly jobs: number;
  readonly folder: string;
  readonly log: string;
  readonly kubeconfig: string;
}

async function runSpecs({ only, labels, nodes, jobs, folder, log, kubeconfig }: Run): Promise<SuiteResult> {
  const report = "report.json";
  const flags = [
    `--procs=${jobs}`,
    "--no-color",
    "-v",
    "--timeout=2h",
    `--label-filter=${labels}`,
    ...(only === undefined ? [] : [`--focus=${only.source}`]),
    `--json-report=${report}`,
    `--output-dir=${folder}`,
    peer("e2e.test"),
    "--",
    `--kubeconfig=${kubeconfig}`,
    "--provider=local",
    `--num-nodes=${nodes}`,
  ];
  const began = performance.now();
  // In a process name space of its own, so that the processes that run the specs end with it.
  const alone = ["-m", "-p", "-f", "--kill-child", "--mount-proc", peer("ginkgo")];
  const ginkgo = start("ginkgo", ["unshare", ...alone, ...flags], log);
  await ginkgo.exited;
  const seconds = (performance.now() - began) / 1000;
  const file = join(folder, report);
  if (!existsSync(file))
    throw new Error(`ginkgo wrote no report and ${ginkgo.ended}:\n${readFileSync(log, "utf8").slice(-2000)}`);
  const result = { ...readReport(readFileSync(file, "utf8")), seconds };
  if (result.specs.length === 0)
    throw new Error(`no spec was run: ${readFileSync(log, "utf8").slice(-2000)}`);
  return result;
}
