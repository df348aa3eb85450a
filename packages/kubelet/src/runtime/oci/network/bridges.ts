import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { find } from "../../host/isolation.ts";
import { SharedDatabase } from "../database.ts";
import { runTool, ToolError } from "../tools.ts";
import { bridgeName, gatewayAddress, hardwareAddress, octetOf } from "./addressing.ts";
import { removeChains } from "./chains.ts";

/** Second octets of the networks 10.X.0.0/16 from which clusters choose, in this order. */
const octets = Array.from({ length: 155 }, (_, i) => (i < 55 ? 200 + i : 45 + i));

/** Maximum length of an interface's alias, which identifies the owner of a bridge. */
const maxAlias = 250;

/**
 * Makes the bridge of the cluster of a folder, unless it exists. Returns the second octet of its network:
 * `earlier` if it is free.
 */
export async function ensureBridge(directory: string, earlier: number | undefined): Promise<number> {
  const alias = aliasOf(directory);
  const octet = await alone(async () => {
    await removeForsaken();
    return (await bridges()).find((bridge) => bridge.alias === alias)?.octet ?? (await claim(alias, earlier));
  });
  const name = bridgeName(octet);
  await runTool("ip", ["-batch", "-"], {
    input: `link set ${name} alias ${alias}\nlink set ${name} address ${hardwareAddress(gatewayAddress(octet))}\naddr replace ${gatewayAddress(octet)}/16 dev ${name}\nlink set ${name} up\n`,
  });
  // Packets to a port of 127.0.0.1 that is mapped to a pod leave by the bridge.
  sysctl(`net/ipv4/conf/${name}/route_localnet`);
  sysctl("net/ipv4/ip_forward");
  return octet;
}

/** Claims the first network that is unused on this machine. */
async function claim(alias: string, earlier: number | undefined): Promise<number> {
  // Of ip(8), which writes no null.
  const routes = JSON.parse(await runTool("ip", ["-4", "-json", "route", "show", "table", "all"])) as {
    dst?: string;
  }[];
  const taken = routes.flatMap(({ dst }) => (dst === undefined ? [] : [dst]));
  for (const octet of earlier === undefined ? octets : [earlier, ...octets]) {
    if (taken.some((route) => overlaps(route, octet))) continue;
    try {
      await runTool("ip", ["link", "add", bridgeName(octet), "alias", alias, "type", "bridge"]);
      return octet;
    } catch (error) {
      // Another cluster has claimed it.
      if (!/File exists/.test((error as Error).message)) throw error;
    }
  }
  throw new ToolError(
    "every network from 10.100.0.0/16 to 10.254.0.0/16 is taken on this machine",
    undefined,
  );
}

/** A path that is too long for an alias is hashed: such a bridge is never taken for an orphan. */
function aliasOf(directory: string): string {
  return directory.length <= maxAlias && /^[\x21-\x7e]+$/.test(directory)
    ? directory
    : `sha256:${createHash("sha256").update(directory).digest("hex")}`;
}

async function bridges(): Promise<readonly { readonly octet: number; readonly alias: string | undefined }[]> {
  // Of ip(8), which writes no null.
  const links = JSON.parse((await runTool("ip", ["-json", "link", "show", "type", "bridge"])) || "[]") as {
    ifname?: string;
    ifalias?: string;
  }[];
  return links.flatMap(({ ifname, ifalias }) => {
    const octet = octetOf(ifname ?? "");
    return Number.isNaN(octet) ? [] : [{ octet, alias: ifalias }];
  });
}

/** Lock of all clusters on this machine; removed by a reboot, as bridges are. */
const machineLock = "/run/dray/networks.db";

/**
 * Runs `work` while no agent of any cluster on this machine does: a bridge that two agents remove may belong
 * to a third one by then.
 */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  const database = new SharedDatabase(machineLock, "");
  try {
    return await database.exclusively("networks", work);
  } finally {
    database.close();
  }
}

/** Removes bridges of clusters whose folder is gone. */
async function removeForsaken(): Promise<void> {
  for (const { octet, alias } of await bridges())
    if (alias?.startsWith("/") && !existsSync(alias)) await removeBridge(bridgeName(octet));
}

/**
 * Removes the bridge of the cluster of a folder. Leaves one alone that another cluster has claimed since this
 * cluster has lost it.
 */
export async function removeBridgeOf(directory: string, octet: number): Promise<void> {
  const alias = aliasOf(directory);
  await alone(async () => {
    if ((await bridges()).some((bridge) => bridge.octet === octet && bridge.alias === alias))
      await removeBridge(bridgeName(octet));
  });
}

async function removeBridge(bridge: string): Promise<void> {
  if (find("iptables-restore") !== undefined) await removeChains(bridge);
  await removeLink(bridge);
}

/** Ignores a missing one. */
export async function removeLink(name: string): Promise<void> {
  await runTool("ip", ["link", "delete", name]).catch((error: Error) => {
    if (!/Cannot find device/.test(error.message)) throw error;
  });
}

function sysctl(name: string): void {
  try {
    writeFileSync(`/proc/sys/${name}`, "1\n");
  } catch (error) {
    throw new ToolError(
      `cannot set the system parameter ${name.replaceAll("/", ".")} to 1: ${(error as Error).message}`,
      undefined,
    );
  }
}

/** Returns true if a route is in 10.OCTET.0.0/16; the default route does not count. */
function overlaps(route: string, octet: number): boolean {
  const [address = "", length = "32"] = route.split("/");
  if (!isIPv4(address)) return false;
  const number = (text: string): number => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const bits = Math.min(Number(length), 16);
  const size = 2 ** (32 - bits);
  return Math.floor(number(address) / size) === Math.floor(number(`10.${octet}.0.0`) / size);
}
