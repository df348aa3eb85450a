// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/resource/v1alpha3.ts";

export type * from "../../schema/generated/resource/v1alpha3.ts";

/** Adds a taint to all devices that it selects. */
export interface DeviceTaintRule extends types.DeviceTaintRule {}
/** Adds a taint to all devices that it selects. */
export const DeviceTaintRule: Kind<DeviceTaintRule> = {"group":"resource.k8s.io","version":"v1alpha3","kind":"DeviceTaintRule","resource":"devicetaintrules","namespaced":false};

/** Asks once for a summary of the devices of a driver. A controller answers in the status. */
export interface ResourcePoolStatusRequest extends types.ResourcePoolStatusRequest {}
/** Asks once for a summary of the devices of a driver. A controller answers in the status. */
export const ResourcePoolStatusRequest: Kind<ResourcePoolStatusRequest> = {"group":"resource.k8s.io","version":"v1alpha3","kind":"ResourcePoolStatusRequest","resource":"resourcepoolstatusrequests","namespaced":false};
