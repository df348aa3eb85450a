/** Upstream's end-to-end specs for DRA on Dray's control plane, with real kubelets or with our own nodes. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { missingPeers, nodePeers, peer, suitePeers } from "../peers.ts";
import { start } from "../processes.ts";
import { type NodeKind, type SuiteCluster, suiteClusters } from "./clusters.ts";
import { missingPrograms } from "./commands.ts";
import { imagePrograms, packImages } from "./images.ts";
import { networkPlugins, nodePrograms } from "./nodes.ts";
import { readReport, type SuiteResult } from "./report.ts";

/** Two specs take two nodes, and one three. */
const nodeCount = 3;

/** All specs of DRA, those of gates that are off by default too. */
const labels = "DRA";

export interface SuiteOptions {
  /** Specs whose names it finds; all if undefined. */
  readonly only: RegExp | undefined;
  /** Specs at a time. */
  readonly jobs: number;
  readonly keep: boolean;
  readonly print: (text: string) => void;
}

/** Reports why the suite cannot run here with nodes of this kind; undefined if it can. */
export function suiteObstacle(kind: NodeKind): string | undefined {
  const isOwn = kind === "dra-oci";
  const peers = missingPeers([...suitePeers, ...(isOwn ? [] : nodePeers)]);
  if (peers.length > 0) return `peers missing: ${peers.join(", ")} (interop/build builds them)`;
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "real nodes need Linux and root";
  const programs = missingPrograms([...nodePrograms, ...imagePrograms]);
  if (programs.length > 0) return `programs missing: ${programs.join(", ")}`;
  if (!isOwn && !networkPlugins.some((folder) => existsSync(join(folder, "bridge"))))
    return `network plugins missing: none in ${networkPlugins.join(" or ")} (Debian: containernetworking-plugins)`;
  return undefined;
}

/** Runs the suite against a cluster whose nodes are of this kind. */
export async function runSuite(
  kind: NodeKind,
  { only, jobs, keep, print }: SuiteOptions,
): Promise<SuiteResult> {
  const folder = mkdtempSync(join(tmpdir(), "dray-interop-dra-"));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  if (!keep) process.once("exit", removeFolder); // Whatever ends this process, the nodes' images are gigabytes.
  let cluster: SuiteCluster | undefined;
  try {
    const images = join(folder, "images.tar");
    const pause = packImages(images);
    cluster = await suiteClusters[kind]({ folder, images, pause, nodes: nodeCount });
    const log = join(folder, "e2e.log");
    print(`${kind}: ${nodeCount} nodes are ready; upstream's suite runs for 10 minutes and more: ${log}`);
    const result = await runSpecs({ only, jobs, folder, log, kubeconfig: cluster.kubeconfig });
    const ended = cluster.programs.flatMap(({ name, ended }) =>
      ended === undefined ? [] : [{ name: `${name} keeps running`, seconds: 0, failure: ended }],
    );
    return { ...result, specs: [...result.specs, ...ended] };
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
  readonly jobs: number;
  readonly folder: string;
  readonly log: string;
  readonly kubeconfig: string;
}

async function runSpecs({ only, jobs, folder, log, kubeconfig }: Run): Promise<SuiteResult> {
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
    `--num-nodes=${nodeCount}`,
  ];
  const began = performance.now();
  // In a process name space of its own, so that the processes that run the specs end with it.
  const alone = ["-m", "-p", "-f", "--kill-child", "--mount-proc", peer("ginkgo")];
  const ginkgo = start("ginkgo", "unshare", [...alone, ...flags], log);
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
