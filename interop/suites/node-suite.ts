/**
 * Upstream's specs of a kubelet's DRA (`test/e2e_node/dra_test.go`) on one node of ours with the runtime
 * `oci`.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Node } from "@dray/api/core/v1";
import { eventually } from "@dray/testing/eventually";
import { program as drayProgram } from "../../scripts/clone.js";
import { connect, Users } from "../credentials.ts";
import { missingPeers, nodeSuitePeers, peer } from "../peers.ts";
import { assertRuns, type Program, start } from "../processes.ts";
import { releaseFlag } from "../release.ts";
import { startDray } from "../server.ts";
import { removeCgroupTree } from "./cgroups.ts";
import { output } from "./commands.ts";
import { packLayout } from "./image-layout.ts";
import { makeImages } from "./images.ts";
import { addBridge, drayCommand, enterNode, gateway, loadImages, nodeAddress } from "./nodes.ts";
import { readReport, type SuiteResult } from "./report.ts";
import { type SuiteOptions, suiteObstacle } from "./suite.ts";

/** Why it cannot run here; undefined if it can. */
export function nodeSuiteObstacle(): string | undefined {
  const peers = missingPeers(nodeSuitePeers);
  return peers.length > 0
    ? `peers missing: ${peers.join(", ")} (interop/build builds them)`
    : suiteObstacle("dra-oci");
}

const name = "node-0";

/** The suite works with the API server as this administrator. */
const token = "interop-node";

/** Folder of the records of the node's runtime, in the node's own name space. */
const state = "/var/lib/dray";

/** Gates for the specs that the suite skips with those of the release. */
const further: readonly { readonly specs: RegExp; readonly cluster: string; readonly suite: string }[] = [
  {
    specs: /feature gate is disabled/,
    cluster: "ResourceHealthStatus=false,ResourceHealthStatusMessage=false",
    suite: "ResourceHealthStatus=false,ResourceHealthStatusMessage=false",
  },
  // The suite skips these specs if its own gate is on, but the cluster needs the gate.
  {
    specs: /ShareID/,
    cluster: "",
    suite: "ResourceHealthStatus=false,ResourceHealthStatusMessage=false,DRAConsumableCapacity=false",
  },
];

export async function runNodeSuite(options: SuiteOptions): Promise<SuiteResult> {
  let { specs, skipped, seconds } = await runWith({ cluster: "", suite: "" }, options);
  for (const gates of further) {
    if (!skipped.some(({ name }) => gates.specs.test(name))) continue;
    const more = await runWith(gates, { ...options, only: gates.specs });
    const run = new Set(more.specs.map(({ name }) => name));
    specs = [...specs, ...more.specs];
    skipped = skipped.filter(({ name }) => !run.has(name));
    seconds += more.seconds;
  }
  return { specs, skipped, seconds };
}

interface Gates {
  /** Feature gates of all components of the cluster. */
  readonly cluster: string;
  /** Gates that are passed to the suite. */
  readonly suite: string;
}

async function runWith(given: Gates, { only, keep, print }: SuiteOptions): Promise<SuiteResult> {
  const flags = (text: string): string[] => (text === "" ? [] : [`--feature-gates=${text}`]);
  const gates = flags(given.cluster);
  const folder = mkdtempSync(join(tmpdir(), "dray-interop-node-"));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  if (!keep) process.once("exit", removeFolder);
  const programs: Program[] = [];
  const removeBridge = addBridge();
  try {
    const images = packLayout(makeImages(join(folder, "images")).layout);
    const tokens = join(folder, "tokens.csv");
    writeFileSync(tokens, `${token},interop-admin,interop-admin,"system:masters"\n`, { mode: 0o600 });
    const server = await startDray(folder, {
      flags: [`--token-auth-file=${tokens}`, ...gates],
      address: gateway,
    });
    programs.push(...server.programs);
    const users = new Users(folder, server.url, server.authority);
    const admin = await connect(await users.kubeconfig("interop-admin", ["system:masters"]));
    try {
      await eventually("the API server is ready", () => admin.text("GET", "/readyz").catch(() => undefined));
      const kubeconfig = await users.kubeconfig("system:kube-controller-manager");
      const controllers = ["controller-manager", `--kubeconfig=${kubeconfig}`, releaseFlag, ...gates];
      const arguments_ = [...process.execArgv, ...(await drayProgram(controllers))];
      programs.push(start("controllers", [process.execPath, ...arguments_], join(folder, "controllers.log")));
      const enter = await startNode({ folder, users, images, ca: server.files.ca, gates }, programs);
      await eventually("the node is ready", async () => {
        for (const program of programs) assertRuns(program);
        const { status } = await admin.resource(Node).get({ name });
        return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
      });
      const log = join(folder, "e2e_node.log");
      print(`dra-node: the node is ready; upstream's suite runs for 20 minutes and more: ${log}`);
      return await runSpecs({ only, folder, log, enter, server: server.url, gates: flags(given.suite) });
    } finally {
      admin.close();
    }
  } finally {
    for (const program of programs.toReversed()) await program.stop();
    removeBridge();
    removeCgroups();
    if (keep) print(`dra-node: logs are in ${folder}`);
    else {
      process.off("exit", removeFolder);
      removeFolder();
    }
  }
}

interface NodeSettings {
  readonly folder: string;
  readonly users: Users;
  readonly images: string;
  readonly ca: string;
  readonly gates: readonly string[];
}

/**
 * Starts the agent as the suite starts it again: by `systemctl`. Resolves to the words that enter the node.
 */
async function startNode(
  { folder, users, images, ca, gates }: NodeSettings,
  programs: Program[],
): Promise<readonly string[]> {
  const node = join(folder, name);
  for (const part of ["kubelet", "containerd", "bin"]) mkdirSync(join(node, part), { recursive: true });
  const enter = await enterNode(node, name, 0, programs);
  const settings = {
    folder,
    name,
    index: 0,
    kubeconfig: await users.kubeconfig(`system:node:${name}`, ["system:nodes"]),
    ca,
    agent: "oci",
    serving: await users.serving(name, nodeAddress(0)),
  } as const;
  await loadImages(enter, images);
  const agent = await drayCommand(
    settings,
    "--address=0.0.0.0",
    "--port=10250",
    "--healthz-port=10248",
    "--read-only-port=10255",
    ...gates,
  );
  const programText = (text: string): [string, { mode: number }] => [`#!/bin/sh\n${text}`, { mode: 0o755 }];
  writeFileSync(join(node, "bin", "sudo"), ...programText('exec "$@"\n'));
  writeFileSync(join(node, "bin", "systemctl"), ...programText(systemctl(node, agent)));
  output("nsenter", [...enter, join(node, "bin", "systemctl"), "restart", "kubelet-dray"]);
  return enter;
}

/** As much of `systemctl` as the suite calls: it stops and starts the agent, and asks whether it runs. */
function systemctl(node: string, agent: readonly string[]): string {
  const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
  return `cd ${quote(node)}
alive() { [ -f pid ] && kill -0 "$(cat pid)" 2>/dev/null; }
stop() { alive && kill "$(cat pid)"; while alive; do sleep 0.05; done; }
case "$1" in
list-units)
  case "$*" in *--state=running*) alive || exit 0 ;; esac
  echo "kubelet-dray.service loaded active running"
  ;;
restart)
  stop
  setsid ${agent.map(quote).join(" ")} >>agent.log 2>&1 &
  echo $! >pid
  ;;
kill) stop ;;
esac
`;
}

interface Run {
  readonly only: RegExp | undefined;
  readonly folder: string;
  readonly log: string;
  readonly enter: readonly string[];
  readonly server: string;
  readonly gates: readonly string[];
}

async function runSpecs({ only, folder, log, enter, server, gates }: Run): Promise<SuiteResult> {
  const report = join(folder, "report.json");
  // The machine's kernel is not what is examined.
  const nothing = join(folder, "system.yaml");
  writeFileSync(nothing, JSON.stringify({ os: "Linux", kernelSpec: { versions: [".*"] } }));
  const flags = [
    "--start-services=false",
    "--stop-services=false",
    "--prepull-images=false",
    `--host=${server}`,
    `--bearer-token=${token}`,
    `--node-name=${name}`,
    `--system-spec-file=${nothing}`,
    ...gates,
    "--ginkgo.no-color",
    "--ginkgo.v",
    "--ginkgo.timeout=2h",
    "--ginkgo.label-filter=DRA",
    ...(only === undefined ? [] : [`--ginkgo.focus=${only.source}`]),
    `--ginkgo.json-report=${report}`,
    "-test.timeout=0",
  ];
  const env = { ...process.env, PATH: `${join(folder, name, "bin")}:${process.env["PATH"]}` };
  const began = performance.now();
  const suite = start("e2e_node.test", ["nsenter", ...enter, peer("e2e_node.test"), ...flags], log, env);
  await suite.exited;
  const seconds = (performance.now() - began) / 1000;
  let text: string;
  try {
    text = readFileSync(report, "utf8");
  } catch {
    const tail = readFileSync(log, "utf8").slice(-2000);
    throw new Error(`e2e_node.test wrote no report and ${suite.ended}:\n${tail}`);
  }
  return { ...readReport(text), seconds };
}

/** The containers have ended with the name spaces; their cgroups are the machine's. */
function removeCgroups(): void {
  const group = createHash("sha256").update(state).digest("hex").slice(0, 12);
  for (const hierarchy of readdirSync("/sys/fs/cgroup"))
    removeCgroupTree(join("/sys/fs/cgroup", hierarchy, "dray", group));
  spawnSync("sh", ["-c", "rmdir /sys/fs/cgroup/*/dray /sys/fs/cgroup/dray 2>/dev/null"]);
}
