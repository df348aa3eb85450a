export { exitCodeAnnotation, runsForAnnotation } from "./life.ts";
export { type SimulatedNode, simulatedLabel } from "./node-object.ts";
export { runSimulatedNodes, type SimulatedNodesOptions } from "./run.ts";
