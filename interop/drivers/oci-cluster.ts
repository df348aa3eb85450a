/** Clusters of `dray up --runtime oci` with one node, for drivers in containers of their images. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Node } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../credentials.ts";
import { missingPrograms } from "../suites/commands.ts";
import { startDrayCluster } from "../suites/dray-cluster.ts";
import { imagePrograms } from "../suites/image-layout.ts";
import { type DriverImage, makeDriverImages } from "./driver-images.ts";
import type { TrialContext } from "./trial.ts";

export interface OciCluster {
  readonly client: Client;
  readonly nodeName: string;
  /** Runs a program such as kubectl as the administrator; resolves to what it prints. */
  run(program: string, ...args: readonly string[]): Promise<string>;
}

/** An image for pods that look at what they have. */
export const tools: DriverImage = { name: "interop.example.com/tools:1", tools: ["ip"], command: ["sh"] };

/** Returns why this machine cannot run such a cluster; undefined if it can. */
export function ociObstacle(): string | undefined {
  const missing = missingPrograms(["runc", "ip", "iptables", "kubectl", ...imagePrograms]);
  return missing.length > 0 ? `programs missing: ${missing.join(", ")}` : undefined;
}

/** Starts a cluster that has the images, calls `use`, and removes the cluster. */
export async function onOciCluster(
  { folder }: TrialContext,
  images: readonly DriverImage[],
  use: (cluster: OciCluster) => Promise<void>,
): Promise<void> {
  const layout = makeDriverImages(join(folder, "images"), [tools, ...images]);
  const { kubeconfig, stop } = await startDrayCluster({ folder, images: { layout }, nodes: 1 });
  try {
    const client = await connect(kubeconfig);
    try {
      const { items } = await client.resource(Node).list();
      const nodeName = items[0]!.metadata.name!;
      await eventually("the service account of pods", () =>
        client.text("GET", "/api/v1/namespaces/default/serviceaccounts/default").catch(() => undefined),
      );
      const env = {
        ...process.env,
        KUBECONFIG: kubeconfig,
        KUBECACHEDIR: join(folder, "kubectl"),
        HELM_CACHE_HOME: join(folder, "helm"),
        HELM_CONFIG_HOME: join(folder, "helm"),
        HELM_DATA_HOME: join(folder, "helm"),
      };
      const execute = promisify(execFile);
      const run = async (program: string, ...args: readonly string[]): Promise<string> =>
        (await execute(program, args, { env, maxBuffer: 64 << 20 })).stdout;
      try {
        await use({ client, nodeName, run });
      } catch (error) {
        // For --keep: all objects, and the logs of all pods.
        await run("kubectl", "cluster-info", "dump", "-A", `--output-directory=${join(folder, "dump")}`);
        throw error;
      }
    } finally {
      client.close();
    }
  } finally {
    await stop();
  }
}
