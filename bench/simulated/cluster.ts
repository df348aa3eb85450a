/** Clusters of simulated nodes with GPUs, and pods that want one. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Draft } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { ResourceClaimTemplate } from "@dray/api/resource/v1";
import { type Client, createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { cpuTime } from "../../interop/processes.ts";
import { program as drayProgram, environment } from "../../scripts/clone.js";

export const namespace = "default";
const driver = "gpu.example.com";

/** A cluster of `dray up`. */
export interface Cluster {
  readonly dataDir: string;
  /** Milliseconds from the call of `dray up --detach` until all nodes were ready. */
  readonly start: number;
  /** Processes of the control plane and the simulation. */
  readonly pids: readonly number[];
}

async function dray(args: readonly string[]): Promise<void> {
  const words = await drayProgram(args);
  const env = { ...environment, ...process.env, KUBECONFIG: "" };
  await promisify(execFile)(process.execPath, [...process.execArgv, ...words], { env });
}

/** Starts a cluster with these flags of `dray up`, and removes it after `run`. */
export async function withCluster<T>(
  flags: readonly string[],
  run: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "dray-bench-"));
  const dataDir = join(folder, "data");
  try {
    const begin = performance.now();
    await dray(["up", "--detach", "--data-dir", dataDir, ...flags]);
    const start = performance.now() - begin;
    const pids = ["process.json", "simulation.json"].map(
      (name) => (JSON.parse(readFileSync(join(dataDir, name), "utf8")) as { pid: number }).pid,
    );
    return await run({ dataDir, start, pids });
  } finally {
    await dray(["down", "--delete-data", "--data-dir", dataDir]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Milliseconds of processor time that a process has used. */
export const cpuOf = (pid: number): number => cpuTime([{ pid }]);

/** Returns a fleet of `count` nodes with eight GPUs each. */
export const fleet = (count: number): string => `
apiVersion: dray.dev/v1alpha1
kind: Fleet
nodes:
  - name: gpu-{index}
    count: ${count}
    simulated: true
    drivers:
      - { driver: ${driver}, pools: [{ devices: [{ name: "gpu-{index}", count: 8 }] }] }
`;

/** Returns a client of the cluster, which has a template of claims for a GPU. */
export async function clientOf({ dataDir }: Cluster): Promise<Client> {
  const { connection } = await loadKubeconfig({ file: join(dataDir, "kubeconfig") });
  const client = createClient({ transport: httpsTransport(connection), userAgent: "dray-bench" });
  const requests = [{ name: "gpu", exactly: { deviceClassName: driver } }];
  await client
    .resource(ResourceClaimTemplate)
    .create({ metadata: { namespace, name: "gpu" }, spec: { spec: { devices: { requests } } } });
  return client;
}

/** The spec of a pod that wants a GPU. */
export const gpuPod: Draft<Pod>["spec"] = {
  resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }],
  containers: [{ name: "main", image: "nginx", resources: { claims: [{ name: "gpu" }] } }],
};
