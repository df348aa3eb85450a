export { applyToContainer, type ContainerDescription } from "./container.ts";
export { type MergedEdits, mergeEdits } from "./edits.ts";
export { removeSpec, specFileName, transientIDs, writeSpec } from "./file.ts";
export { type HostDevice, hostDevice } from "./host-device.ts";
export { parseQualifiedName, type QualifiedName, qualifiedName } from "./names.ts";
export { applyToOciConfig, type OciConfig } from "./oci.ts";
export { parseSpec } from "./parse.ts";
export {
  type CdiProblem,
  type CdiRegistry,
  cdiRegistry,
  defaultDirectories,
  UnresolvableDevicesError,
} from "./registry.ts";
export {
  CdiError,
  type ContainerEdits,
  type Device,
  type DeviceNode,
  type Hook,
  type HookName,
  type IntelRdt,
  type Mount,
  type NetDevice,
  type Spec,
} from "./spec.ts";
export { validateSpec } from "./validate.ts";
export { minimumVersion } from "./version.ts";
