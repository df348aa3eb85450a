/** The clusters that upstream's suite runs on: one for each kind of node. */
import { join } from "node:path";
import { program as drayProgram } from "../../scripts/clone.js";
import { connect, Users } from "../credentials.ts";
import { eventually } from "../eventually.ts";
import { type Program, start } from "../processes.ts";
import { gatesFlag, releaseFlag, versionsFlag } from "../release.ts";
import { startDray } from "../server.ts";
import { startDrayCluster } from "./dray-cluster.ts";
import { addBridge, gateway, type NodeAgent, type RealNode, startNode } from "./nodes.ts";

/** `dra`: real kubelets; `dra-oci` and `dra-cri`: our nodes with that runtime. Real containerd runs under the first and last. */
export type NodeKind = "dra" | "dra-oci" | "dra-cri";

export interface SuiteClusterOptions {
  readonly folder: string;
  /** The archive with the images, and the one that holds a pod's name spaces. */
  readonly images: string;
  readonly pause: string;
  readonly nodes: number;
}

export interface SuiteCluster {
  readonly kubeconfig: string;
  readonly programs: readonly Program[];
  stop(): Promise<void>;
}

export const suiteClusters: Readonly<
  Record<NodeKind, (options: SuiteClusterOptions) => Promise<SuiteCluster>>
> = {
  dra: (options) => startCluster("kubelet", options),
  "dra-oci": startDrayCluster,
  "dra-cri": (options) => startCluster("cri", options),
};

/** API server, scheduler and controllers are processes of ours, one each; every node has name spaces of its own. */
export async function startCluster(
  agent: NodeAgent,
  { folder, images, pause, nodes: count }: SuiteClusterOptions,
): Promise<SuiteCluster & { readonly nodes: readonly RealNode[] }> {
  const nodes: RealNode[] = [];
  const programs: Program[] = [];
  const removeBridge = addBridge();
  const stop = async (): Promise<void> => {
    for (const node of nodes) await node.stop();
    for (const program of programs.toReversed()) await program.stop();
    removeBridge();
  };
  try {
    const server = await startDray(folder, [], gateway, [gatesFlag, versionsFlag]);
    programs.push(...server.programs);
    const users = new Users(folder, server.url, server.authority);
    const kubeconfig = await users.kubeconfig("interop-admin", ["system:masters"]);
    const admin = await connect(kubeconfig);
    try {
      await eventually("the API server is ready", () => admin.text("GET", "/readyz").catch(() => undefined));
      for (const component of ["scheduler", "controller-manager"]) {
        const flags = [
          `--kubeconfig=${await users.kubeconfig(`system:kube-${component}`)}`,
          releaseFlag,
          gatesFlag,
        ];
        const arguments_ = [...process.execArgv, ...(await drayProgram([component, ...flags]))];
        programs.push(start(component, process.execPath, arguments_, join(folder, `${component}.log`)));
      }
      const cluster = { folder, admin, users, ca: server.files.ca, images, pause, agent };
      for (let index = 0; index < count; index++) nodes.push(await startNode(cluster, index));
    } finally {
      admin.close();
    }
    return { kubeconfig, programs: [...programs, ...nodes.flatMap((node) => node.programs)], nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
