import { type AddedContext, type ClusterConfig, isUsedByDefault, type Layout } from "@dray/cluster";
import { shellWord } from "./shell.ts";

/** What a person needs to use a cluster that runs; `added` is the kubeconfig that they have asked for. */
export function clusterSummary(
  layout: Layout,
  config: ClusterConfig,
  url: string,
  added?: AddedContext,
): string {
  const nodes = config.nodes.length === 0 ? "none" : config.nodes.join(", ");
  const file = added?.file ?? layout.kubeconfig;
  return [
    `Kubernetes ${config.kubernetesVersion} is ready at ${url}`,
    `  nodes       ${nodes}`,
    `  data        ${shellWord(layout.dataDir)}`,
    `  kubeconfig  ${shellWord(file)}${added === undefined ? "" : `, current context ${added.context}`}`,
    "",
    "Use it:",
    ...(isUsedByDefault(file) ? [] : [`  export KUBECONFIG=${shellWord(file)}`]),
    "  kubectl get nodes",
    "",
  ].join("\n");
}
