import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import type { NetworkDeviceData } from "@dray/api/resource/v1";
import { claimStatusWriter, type DeviceStatus } from "@dray/driver";
import type { ProfileChoice, Subnet } from "../fleet/profile-choice.ts";
import type { Profile, ProfileContext, ProfileDevice } from "./profile.ts";

const execute = promisify(execFile);

/** Longest name of a network interface on Linux, in bytes. */
const maxInterfaceName = 15;

interface VirtualFunction {
  readonly hostInterface: string;
  /** Its name in the pod. */
  readonly name: string;
  readonly mac: string;
  /** With the length of the network's prefix. */
  readonly address: string;
}

/**
 * Virtual functions of network cards: CDI moves a network device into the pod's network name space, and the
 * claim's status says its addresses (KEP-4817, status.devices[].networkData).
 */
export function sriov(
  { interfaces, subnet }: Extract<ProfileChoice, { name: "sriov" }>,
  { driver, nodeName, client, clock, log }: ProfileContext,
): Profile {
  const functionOf = ({ allocated, device, index }: ProfileDevice): VirtualFunction => {
    const { pool, device: deviceName } = allocated.result;
    const hash = createHash("sha256")
      .update(JSON.stringify([nodeName, driver, pool, deviceName]))
      .digest("hex");
    const short = Buffer.byteLength(deviceName) <= maxInterfaceName;
    const named = device?.device.attributes?.["interface"]?.string;
    return {
      // Nodes of one machine share its interfaces.
      hostInterface: interfaces === "create" ? `vf${hash.slice(0, 10)}` : (named ?? deviceName),
      name: short ? deviceName : `vf${hash.slice(0, 10)}`,
      mac: `02:${hash.slice(0, 10).replace(/..(?=.)/g, "$&:")}`,
      address: addressOf(subnet, index),
    };
  };
  const writer = claimStatusWriter({ client, driver, clock });
  const networkData = (device: ProfileDevice): NetworkDeviceData => {
    const { name, mac, address } = functionOf(device);
    return { interfaceName: name, ips: [address], hardwareAddress: mac };
  };
  return {
    networkData,
    async prepare(_, device) {
      const { hostInterface, name, mac, address } = functionOf(device);
      if (interfaces === "create") {
        await createInterface(hostInterface, mac, address);
        log.info({ interface: hostInterface, address }, "Created a virtual function");
      }
      return {
        env: [`${device.prefix}_MAC=${mac}`, `${device.prefix}_IP=${address}`],
        ...(interfaces !== "none" && { netDevices: [{ hostInterfaceName: hostInterface, name }] }),
      };
    },
    async prepared(claim, devices) {
      const statuses = devices.map(
        (one): DeviceStatus => ({ device: one.allocated.result, networkData: networkData(one) }),
      );
      await writer.write(claim, statuses);
    },
    async unprepare(_, device) {
      if (interfaces === "create") await removeInterface(functionOf(device).hostInterface);
    },
  };
}

/** The address of the n-th device; addresses begin again where the network is too small. */
function addressOf({ base, prefix }: Subnet, index: number): string {
  // Without the addresses of the network and of broadcasts.
  const usable = 2 ** (32 - prefix) - 2;
  const address = base + 1 + (index % usable);
  const bytes = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256);
  return `${bytes.join(".")}/${prefix}`;
}

async function createInterface(name: string, mac: string, address: string): Promise<void> {
  // Leftovers of an interrupted prepare.
  await removeInterface(name);
  await ip("link", "add", name, "address", mac, "type", "veth", "peer", "name", peerOf(name));
  // Down, so that the host routes nothing there; the runtime raises it in the pod.
  await ip("address", "add", address, "dev", name);
}

/** The other end of the pair, which stays on the host as the port of the card would. */
const peerOf = (name: string): string => `${name}p`;

async function removeInterface(name: string): Promise<void> {
  try {
    await ip("link", "delete", name);
  } catch (error) {
    // It ended with the pod's network name space.
    if (!/Cannot find device/.test((error as Error).message)) throw error;
  }
}

async function ip(...args: readonly string[]): Promise<void> {
  try {
    await execute("ip", args, { env: { PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`, LC_ALL: "C" } });
  } catch (error) {
    const { code, stderr = "" } = error as NodeJS.ErrnoException & { stderr?: string };
    const why =
      code === "ENOENT" ? "there is no program `ip` (iproute2)" : stderr.trim() || (error as Error).message;
    throw new Error(`ip ${args.join(" ")}: ${why}; interfaces: none in the driver's options does without`);
  }
}
