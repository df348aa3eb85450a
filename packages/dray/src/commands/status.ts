import { existsSync } from "node:fs";
import { Node } from "@dray/api/core/v1";
import { contextName, readConfig, runningProcess } from "@dray/cluster";
import { connect } from "../connect.ts";
import { printData } from "../output.ts";
import { clusterSummary } from "../summary.ts";
import { listOfOthers, noCluster, type TargetFlags, target } from "../target.ts";

/** Prints how the cluster is. Its exit code is 0 only if it runs and all its nodes are ready. */
export async function status(
  options: TargetFlags & { output?: "json" | "yaml" | "kubeconfig" },
): Promise<void> {
  const { name, layout } = target(options);
  const config = readConfig(layout);
  if (options.output === "kubeconfig") {
    if (!existsSync(layout.kubeconfig)) throw noCluster(layout);
    process.stdout.write(`${layout.kubeconfig}\n`);
    return;
  }
  const running = runningProcess(layout.processFile);
  if (config === undefined || running === undefined) {
    process.exitCode = 1;
    const state = config === undefined ? "there is no cluster" : "the cluster is stopped";
    if (options.output !== undefined)
      await printData({ name, running: false, dataDir: layout.dataDir }, options.output);
    else
      process.stdout.write(
        `${state} in ${layout.dataDir}: \`dray up\` ${config ? "continues it" : "makes one"}\n${listOfOthers(options)}`,
      );
    return;
  }
  const { client, server } = await connect(
    { kubeconfig: layout.kubeconfig, context: contextName(name) },
    "dray-status",
  );
  try {
    const { items } = await client.resource(Node).list();
    const nodes = items.map((node) => ({
      name: node.metadata.name,
      ready: node.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false,
    }));
    if (nodes.some((node) => !node.ready)) process.exitCode = 1;
    if (options.output !== undefined) {
      const facts = {
        name,
        running: true,
        pid: running.pid,
        server,
        kubernetesVersion: config.kubernetesVersion,
        dataDir: layout.dataDir,
        kubeconfig: layout.kubeconfig,
        nodes,
      };
      return await printData(facts, options.output);
    }
    process.stdout.write(clusterSummary(layout, config, server));
    for (const node of nodes.filter((node) => !node.ready))
      process.stdout.write(`\nnode ${node.name} is not ready\n`);
    process.stdout.write(listOfOthers(options));
  } finally {
    client.close();
  }
}
