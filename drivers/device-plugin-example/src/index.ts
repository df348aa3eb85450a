export { type SimulatedOptions, simulatedDevices } from "./devices.ts";
export { helpText, type Options, readOptions } from "./options.ts";
