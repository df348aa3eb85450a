import { isObject, wrongShape } from "../shared/shapes.ts";
import type { AllocatedClaim, AllocatedDevice } from "../types/driver.ts";
import type { PreparedDevice } from "./checkpoint.ts";

function keyOf({ result }: AllocatedDevice): string {
  return [result.request, result.pool, result.device, result.shareID ?? ""].join("\n");
}

export function sameDevices(one: readonly AllocatedDevice[], other: readonly AllocatedDevice[]): boolean {
  return one.length === other.length && one.every((device, i) => keyOf(device) === keyOf(other[i]!));
}

/**
 * Result of the driver's `prepare`, each device the one of the claim. Throws if a device of the claim is left
 * out, or if something has a wrong shape.
 */
export function checkedEdits(claim: AllocatedClaim, returned: unknown): PreparedDevice[] {
  if (!Array.isArray(returned)) {
    throw new Error(wrongShape("prepare(claim)", returned, "a list of {device, edits}"));
  }
  const devices = new Map(claim.devices.map((device) => [keyOf(device), device]));
  const prepared = returned.map((one: unknown, i): PreparedDevice => {
    const at = `prepare(claim)[${i}]`;
    if (!isObject(one)) throw new Error(wrongShape(at, one, "an object {device, edits}"));
    const { device, edits, metadata } = one;
    const known = isObject(device) && isObject(device["result"]) && devices.get(keyOf(device as never));
    if (!known) throw new Error(wrongShape(`${at}.device`, device, "one of claim.devices"));
    if (!isObject(edits)) throw new Error(wrongShape(`${at}.edits`, edits, "an object, edits of CDI"));
    if (metadata === undefined) return { device: known, edits };
    if (!isObject(metadata)) {
      throw new Error(wrongShape(`${at}.metadata`, metadata, "an object {attributes, networkData}"));
    }
    return { device: known, edits, metadata };
  });
  for (const device of claim.devices) {
    if (prepared.some((one) => one.device === device)) continue;
    const { request, pool, device: name } = device.result;
    throw new Error(`the driver did not prepare device ${pool}/${name} of request ${request}`);
  }
  return prepared;
}
