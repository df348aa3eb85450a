export { isLoopback, plainAddress, type ServerAddresses, serverAddresses, urlHost } from "./address.ts";
export type { AgentsOrder, AgentsOutcome, AgentsReport, FailedAgent, NodeFiles } from "./agents.ts";
export { AgentsFile } from "./agents-file.ts";
export { checkCapacity } from "./capacity.ts";
export * from "./config.ts";
export { askControl } from "./control.ts";
export * from "./controlplane.ts";
export * from "./credentials.ts";
export { deleteData } from "./delete.ts";
export { deviceUsage } from "./device-usage.ts";
export { checkOwnFolder, prepareDataDir, prepareRunDir } from "./folders.ts";
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
} from "./kubeconfigs.ts";
export * from "./layout.ts";
export * from "./local.ts";
export { namesText, nodeNames } from "./node-names.ts";
export { type NodeStates, readNodeStates } from "./node-states.ts";
export { nodesReady } from "./nodes.ts";
export { choosePort } from "./port.ts";
export * from "./process.ts";
export { processMemory } from "./process-memory.ts";
export * from "./store.ts";
export { checkStoreVersion, recordStoreVersion, storeFormat } from "./store-version.ts";
