import type { ClusterConfig, Layout } from "@dray/cluster";

/** What a person needs to use a cluster that runs. */
export function clusterSummary(layout: Layout, config: ClusterConfig, url: string): string {
  const nodes = config.nodes.length === 0 ? "none" : config.nodes.join(", ");
  return [
    `Kubernetes ${config.kubernetesVersion} is ready at ${url}`,
    `  nodes       ${nodes}`,
    `  data        ${layout.dataDir}`,
    `  kubeconfig  ${layout.kubeconfig}`,
    "",
    "Use it:",
    `  export KUBECONFIG=${layout.kubeconfig}`,
    "  kubectl get nodes",
    "",
  ].join("\n");
}
