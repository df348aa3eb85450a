import type { DeviceSubRequest, ResourceClaim } from "../../../generated/resource/v1.ts";

/** Maximum number of devices of an allocation, so that "all devices" are never more (resource/v1). */
export const maxDevices = 32;

/** A request, as its alternatives in order of preference; one of them is allocated. */
export interface DeviceDemand {
  readonly request: string;
  /** It lists alternatives (`firstAvailable`), even if there is only one. */
  readonly isPrioritized: boolean;
  readonly alternatives: readonly RequestedDevices[];
}

/**
 * One way to satisfy a request of a claim: the request itself, or one of its prioritized alternatives
 * (KEP-4816).
 */
export interface RequestedDevices {
  /** `request`, or `request/alternative`. */
  readonly name: string;
  readonly deviceClass: string;
  /** Number of devices; "All": every suitable device of a node, `maxDevices` at most. */
  readonly count: number | bigint | "All";
  /** The devices stay available to others (KEP-5018). */
  readonly adminAccess: boolean;
  readonly body: Omit<DeviceSubRequest, "name">;
}

/** Returns what the requests of a claim ask for. */
export function deviceDemands({ devices }: Pick<ResourceClaim["spec"], "devices">): DeviceDemand[] {
  return (devices?.requests ?? []).map(({ name, exactly, firstAvailable }) => {
    const isPrioritized = (firstAvailable ?? []).length > 0;
    const alternatives = isPrioritized
      ? (firstAvailable ?? []).map((sub) => requestedDevices(`${name}/${sub.name}`, sub, false))
      : exactly
        ? [requestedDevices(name, exactly, exactly.adminAccess === true)]
        : [];
    return { request: name, isPrioritized, alternatives };
  });
}

function requestedDevices(
  name: string,
  body: RequestedDevices["body"],
  adminAccess: boolean,
): RequestedDevices {
  const { deviceClassName, allocationMode, count } = body;
  // Modes of a later release are charged nothing, as upstream's quota does.
  const devices = allocationMode === "All" ? "All" : allocationMode === "ExactCount" ? (count ?? 0) : 0;
  return { name, deviceClass: deviceClassName, count: devices, adminAccess, body };
}
