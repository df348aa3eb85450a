import {
  addToKubeconfigs,
  askControl,
  type ClusterConfig,
  checkKubeconfigs,
  kubeconfigFiles,
  type Layout,
  readConfig,
} from "@dray/cluster";
import type { UpOptions } from "../commands/up.ts";
import { UsageError } from "../failure.ts";
import { shellWord } from "../shell.ts";
import { remark, say } from "../verbosity.ts";

/** What a cluster has that does not change while it runs, by flag. */
const fixed = {
  "--port": "port",
  "--bind-address": "bindAddress",
  "--advertise-address": "advertiseAddress",
  "--store": "store",
  "--kubernetes-version": "kubernetesVersion",
  "--feature-gates": "featureGates",
  "--runtime-config": "runtimeConfig",
  "--image": "images",
} as const satisfies Readonly<Record<string, keyof ClusterConfig>>;

/** Does what `up` asks of a cluster that runs already: other nodes, another kubeconfig. Refuses everything else. */
export async function changeRunning(
  layout: Layout,
  config: ClusterConfig,
  options: UpOptions,
  pid: number,
): Promise<void> {
  const before = readConfig(layout);
  for (const [flag, name] of Object.entries(fixed)) {
    // Port 0 is any.
    if (name === "port" && config.port === 0) continue;
    if (before !== undefined && JSON.stringify(config[name]) !== JSON.stringify(before[name]))
      throw new UsageError(
        `${flag}: the cluster in ${layout.dataDir} runs with ${JSON.stringify(before[name])} (process ${pid}): stop it with \`dray down\` first`,
      );
  }
  if (options.nodes === undefined && options.kubeconfig === undefined) {
    throw new Error(
      `the cluster in ${layout.dataDir} is already running (process ${pid}): see \`dray status\`; --nodes and --kubeconfig can be given while it runs`,
    );
  }
  if (options.kubeconfig !== undefined) await addContext(layout, config.name, options.kubeconfig);
  if (options.nodes !== undefined) await changeNodes(layout, config.nodes.length);
}

async function addContext(layout: Layout, name: string, flag: string): Promise<void> {
  const files = kubeconfigFiles(flag);
  await checkKubeconfigs(layout, name, files);
  const added = await addToKubeconfigs(layout, name, files);
  if (added !== undefined)
    say(`context ${added.context} is in ${shellWord(added.file)}, and current there\n`);
}

async function changeNodes(layout: Layout, nodes: number): Promise<void> {
  const stop = new AbortController();
  const giveUp = (): void => stop.abort(new Error("interrupted: the nodes are as before"));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, giveUp);
  try {
    const tell = (line: string): void => remark(`${line}\n`);
    say(`${await askControl(layout.controlSocket, { nodes }, tell, stop.signal)}\n`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ECONNREFUSED") throw error;
    throw new Error(
      `the cluster in ${layout.dataDir} is still starting, or stops: try again, and see \`dray status\``,
    );
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, giveUp);
  }
}
