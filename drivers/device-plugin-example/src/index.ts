export { type SimulatedOptions, simulatedDevices } from "./devices.ts";
export { helpText, type Options, readOptions } from "./options.ts";
export { runProgram } from "./program.ts";
