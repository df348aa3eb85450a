export { exitCodeAnnotation, runsForAnnotation } from "./life.ts";
export { defaultCapacity, nodeLabels, type SimulatedNode, simulatedLabel } from "./node-object.ts";
export { runSimulatedNodes, type SimulatedNodesOptions } from "./run.ts";
