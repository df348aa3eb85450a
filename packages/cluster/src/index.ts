export * from "./control-plane/control-plane.ts";
export { deviceUsage } from "./control-plane/device-usage.ts";
export * from "./credentials/credentials.ts";
export {
  type AddedContext,
  addToKubeconfigs,
  checkKubeconfigs,
  contextName,
  isUsedByDefault,
  kubeconfigFiles,
  refreshKubeconfigs,
  rememberedFiles,
  removeFromKubeconfigs,
} from "./credentials/kubeconfigs.ts";
export * from "./data-dir/config.ts";
export { checkOwnFolder, prepareDataDir, prepareRunDir } from "./data-dir/folders.ts";
export * from "./data-dir/layout.ts";
export { deleteData } from "./delete.ts";
export * from "./local.ts";
export {
  isLoopback,
  plainAddress,
  type ServerAddresses,
  serverAddresses,
  urlHost,
} from "./network/address.ts";
export { choosePort } from "./network/port.ts";
export type { AgentsOrder, AgentsOutcome, AgentsReport, FailedAgent, NodeFiles } from "./nodes/agents.ts";
export { AgentsFile } from "./nodes/agents-file.ts";
export { checkCapacity } from "./nodes/capacity.ts";
export { namesText, nodeNames } from "./nodes/names.ts";
export { nodesReady } from "./nodes/nodes.ts";
export { type NodeStates, readNodeStates } from "./nodes/states.ts";
export { askControl } from "./process/control.ts";
export { processMemory } from "./process/memory.ts";
export * from "./process/process-file.ts";
export { ProgressDeadline } from "./process/progress-deadline.ts";
export * from "./store/open.ts";
export { checkStoreVersion, recordStoreVersion, storeFormat } from "./store/version.ts";
