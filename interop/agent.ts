/**
 * A node with containers, for the clients that need more than hollow nodes have: `dray kubelet`, beside any
 * API server.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Node, Pod } from "@dray/api/core/v1";
import { eventually } from "@dray/testing/eventually";
import { program as drayProgram } from "../scripts/clone.js";
import type { ControlPlane } from "./control-plane.ts";
import { assertRuns, start } from "./processes.ts";
import { releaseFlag } from "./release.ts";

/** Name of its Node, by which clients ask for it. */
const name = "interop-agent";
/** Keeps the pods away that do not mean this node. */
const taint = { key: "interop", value: "agent", effect: "NoSchedule" };

export interface Agent {
  /** Reports that it ended too early or kept a pod. Empty if all is well. */
  readonly failures: readonly string[];
  /** Deletes its pods, so that no container goes on, and stops it. */
  stop(): Promise<void>;
}

/**
 * Starts it with its files in `folder`; resolves when the node is ready, and rejects if it is not within a
 * minute.
 */
export async function startAgent({ admin, users }: ControlPlane, folder: string): Promise<Agent> {
  const root = join(folder, "agent");
  mkdirSync(root);
  const serving = await users.serving(name);
  const nodes = admin.resource(Node);
  // The agent takes the Node that is there: so its taint is older than its readiness.
  await nodes.create({ metadata: { name }, spec: { taints: [taint] } });
  const flags = [
    `--node-name=${name}`,
    `--kubeconfig=${await users.kubeconfig(`system:node:${name}`, ["system:nodes"])}`,
    `--root-dir=${root}`,
    `--tls-cert-file=${serving.certificate}`,
    `--tls-private-key-file=${serving.key}`,
    releaseFlag,
    // The disk of this machine may be full.
    "--eviction-hard=",
  ];
  const program = start(
    "dray kubelet",
    [process.execPath, ...process.execArgv, ...(await drayProgram(["kubelet", ...flags]))],
    join(folder, "kubelet.log"),
  );
  const pods = admin.resource(Pod);
  const ownPods = { fieldSelector: `spec.nodeName=${name}` };
  const emptied = async (): Promise<boolean> => {
    assertRuns(program);
    return (await pods.list(ownPods)).items.length === 0;
  };
  const failures: string[] = [];
  const stop = async (): Promise<void> => {
    try {
      for (const { metadata } of (await pods.list(ownPods)).items)
        await pods.delete({ namespace: metadata.namespace, name: metadata.name });
      await eventually(`${name} has no pods`, emptied);
    } catch (error) {
      failures.push((error as Error).message);
    }
    await program.stop();
  };
  try {
    await eventually(`${name} is ready`, async () => {
      assertRuns(program);
      const { spec, status } = await nodes.get({ name });
      const ready = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
      return ready === true && spec.taints?.length === 1;
    });
    return { failures, stop };
  } catch (error) {
    await program.stop();
    throw error;
  }
}
