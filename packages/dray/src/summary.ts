import {
  type AddedContext,
  type ClusterConfig,
  isLoopback,
  isUsedByDefault,
  type Layout,
  namesText,
  serverAddresses,
  urlHost,
} from "@dray/cluster";
import { shellWord } from "./shell.ts";

/** What a person needs to use a cluster that runs; `added` is the kubeconfig that they have asked for. */
export function clusterSummary(
  layout: Layout,
  config: ClusterConfig,
  url: string,
  added?: AddedContext,
): string {
  const nodes = config.nodes.length === 0 ? "none" : namesText(config.nodes);
  const file = added?.file ?? layout.kubeconfig;
  const others = urlForOthers(config);
  return [
    `Kubernetes ${config.kubernetesVersion} is ready at ${url}`,
    ...(others === undefined || others === url ? [] : [`  for others  ${others}`]),
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

/** Where other machines reach the API server; undefined if it is for this machine alone. */
function urlForOthers({ bindAddress, advertiseAddress, port }: ClusterConfig): string | undefined {
  const { advertised } = serverAddresses({ bind: bindAddress, advertise: advertiseAddress || undefined });
  return isLoopback(advertised) ? undefined : `https://${urlHost(advertised)}:${port}`;
}
