export { decodeGpuConfig, type Sharing } from "./config.ts";
export { type Environment, readEnvironment } from "./environment.ts";
export { type GpuOptions, gpuDriver } from "./gpu.ts";
export { klog } from "./klog.ts";
