import { shortened } from "../base/text.ts";
import type { PreparedDevice } from "./checkpoint.ts";

/** Maximum number of prepared devices of a claim: an allocation has at most 32 (resource/v1). */
const maxDevices = 256;
/** Maximum number of request names, and of CDI devices, of all devices of a claim. */
const maxNames = 1024;
/** Maximum length of a name in characters; pools and qualified CDI names have up to some 320. */
export const maxName = 512;

/** A device in the driver's response. */
interface Device {
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareId?: string | undefined;
  readonly requestNames: readonly string[];
  readonly cdiDeviceIds: readonly string[];
}

/**
 * Returns the devices of one claim. Throws if there are more, or longer names, than a driver can need: they
 * are kept in the checkpoint and in every container.
 */
export function preparedDevices(driver: string, claim: string, devices: readonly Device[]): PreparedDevice[] {
  const refuse = (what: string): never => {
    throw new Error(`DRA driver ${driver}: NodePrepareResources returned ${what} for ResourceClaim ${claim}`);
  };
  if (devices.length > maxDevices) refuse(`${devices.length} devices, more than ${maxDevices},`);
  const checked = (kind: string, name: string): string =>
    name.length <= maxName
      ? name
      : refuse(`a ${kind} of ${name.length} characters, more than ${maxName} (${shortened(name, 100)}),`);
  let names = 0;
  return devices.map((device) => {
    names += device.requestNames.length + device.cdiDeviceIds.length;
    if (names > maxNames) refuse(`more than ${maxNames} request names and CDI devices`);
    return {
      PoolName: checked("pool name", device.poolName),
      DeviceName: checked("device name", device.deviceName),
      ...(device.shareId ? { ShareID: checked("share ID", device.shareId) } : {}),
      RequestNames: device.requestNames.map((name) => checked("request name", name)),
      CDIDeviceIDs: device.cdiDeviceIds.map((id) => checked("CDI device ID", id)),
    };
  });
}
