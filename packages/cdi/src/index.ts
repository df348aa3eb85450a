export { applyToContainer, type ContainerDescription } from "./apply/container.ts";
export { type MergedEdits, mergeEdits } from "./apply/edits.ts";
export { type HostDevice, hostDevice } from "./apply/host-device.ts";
export { applyToOciConfig, type OciConfig } from "./apply/oci.ts";
export {
  type CdiProblem,
  type CdiRegistry,
  cdiRegistry,
  defaultDirectories,
  UnresolvableDevicesError,
} from "./registry.ts";
export { removeSpec, specFileName, transientIDs, writeSpec } from "./spec/file.ts";
export { parseQualifiedName, type QualifiedName, qualifiedName } from "./spec/names.ts";
export { parseSpec } from "./spec/parse.ts";
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
} from "./spec/spec.ts";
export { validateSpec } from "./spec/validate.ts";
export { minimumVersion } from "./spec/version.ts";
