export type {
  AllocatedDevices,
  AllocatedMount,
  AllocatedNode,
  DevicePlugin,
  PluginDevice,
  PreferenceRequest,
} from "./plugin.ts";
export { type DevicePluginOptions, runDevicePlugin } from "./run.ts";
