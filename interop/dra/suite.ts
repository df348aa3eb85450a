/** `npm run interop -- dra`: upstream's end-to-end specs for DRA, with real kubelets, on Dray's control plane. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { program as drayProgram } from "../../scripts/clone.js";
import { connect, Users } from "../credentials.ts";
import { eventually } from "../eventually.ts";
import { missingPeers, peer, suitePeers } from "../peers.ts";
import { type Program, start } from "../processes.ts";
import { startDray } from "../server.ts";
import { missingPrograms } from "./commands.ts";
import { imagePrograms, packImages } from "./images.ts";
import { addBridge, gateway, networkPlugins, nodePrograms, type RealNode, startNode } from "./nodes.ts";
import { readReport, type SuiteResult } from "./report.ts";

/** Two specs take two nodes, and one three. */
export const nodeCount = 3;

/** All specs of DRA whose feature gates are on by default. */
const labels = "DRA && !(Feature: containsAny OffByDefault)";

/** Some specs use them; like kube-apiserver, Dray does not serve them by default. */
const betaVersions = "--runtime-config=resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true";

export interface SuiteOptions {
  /** Specs whose names it finds; all if undefined. */
  readonly only: RegExp | undefined;
  /** Specs at a time. */
  readonly jobs: number;
  readonly keep: boolean;
  readonly print: (text: string) => void;
}

/** Why the suite cannot run here; undefined if it can. */
export function suiteObstacle(): string | undefined {
  const peers = missingPeers(suitePeers);
  if (peers.length > 0) return `peers missing: ${peers.join(", ")} (interop/build builds them)`;
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "real nodes need Linux and root";
  const programs = missingPrograms([...nodePrograms, ...imagePrograms]);
  if (programs.length > 0) return `programs missing: ${programs.join(", ")}`;
  if (!networkPlugins.some((folder) => existsSync(join(folder, "bridge"))))
    return `network plugins missing: none in ${networkPlugins.join(" or ")} (Debian: containernetworking-plugins)`;
  return undefined;
}

export async function runSuite({ only, jobs, keep, print }: SuiteOptions): Promise<SuiteResult> {
  const folder = mkdtempSync(join(tmpdir(), "dray-interop-dra-"));
  const images = join(folder, "images.tar");
  const nodes: RealNode[] = [];
  const programs: Program[] = [];
  const removeBridge = addBridge();
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  if (!keep) process.once("exit", removeFolder); // Whatever ends this process, the nodes' images are gigabytes.
  try {
    const pause = packImages(images);
    const server = await startDray(folder, [], gateway, [betaVersions]);
    programs.push(...server.programs);
    const users = new Users(folder, server.url, server.authority);
    const kubeconfig = await users.kubeconfig("interop-admin", ["system:masters"]);
    const admin = await connect(kubeconfig);
    try {
      await eventually("the API server is ready", () => admin.text("GET", "/readyz").catch(() => undefined));
      for (const component of ["scheduler", "controller-manager"]) {
        const flags = [
          `--kubeconfig=${await users.kubeconfig(`system:kube-${component}`)}`,
          "--kubernetes-version=1.36",
        ];
        const arguments_ = [...process.execArgv, ...(await drayProgram([component, ...flags]))];
        programs.push(start(component, process.execPath, arguments_, join(folder, `${component}.log`)));
      }
      const cluster = { folder, admin, users, ca: server.files.ca, images, pause };
      for (let index = 0; index < nodeCount; index++) nodes.push(await startNode(cluster, index));
      const log = join(folder, "e2e.log");
      print(`dra: ${nodeCount} nodes are ready; upstream's suite runs for 10 minutes and more: ${log}`);
      const result = await runSpecs({ only, jobs, folder, log, kubeconfig });
      const ended = [...programs, ...nodes.flatMap((node) => node.programs)].flatMap(({ name, ended }) =>
        ended === undefined ? [] : [{ name: `${name} keeps running`, seconds: 0, failure: ended }],
      );
      return { ...result, specs: [...result.specs, ...ended] };
    } finally {
      admin.close();
    }
  } finally {
    for (const node of nodes) await node.stop();
    for (const program of programs.toReversed()) await program.stop();
    removeBridge();
    if (keep) print(`dra: logs are in ${folder}`);
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
