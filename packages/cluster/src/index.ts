export {
  isLoopback,
  plainAddress,
  type ServerAddresses,
  serverAddresses,
  urlHost,
} from "./control-plane/address.ts";
export * from "./control-plane/control-plane.ts";
export { deviceUsage } from "./control-plane/device-usage.ts";
export { choosePort } from "./control-plane/port.ts";
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
export { deleteData } from "./data-dir/delete.ts";
export { checkOwnFolder, prepareDataDir, prepareRunDir } from "./data-dir/folders.ts";
export * from "./data-dir/layout.ts";
export * from "./local.ts";
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
