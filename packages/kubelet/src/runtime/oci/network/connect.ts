import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolderSync } from "@dray/files";
import { find } from "../../host/isolation.ts";
import { unmountAll } from "../images/snapshots.ts";
import { runTool, tool } from "../tools.ts";
import { hardwareAddress } from "./addressing.ts";
import { removeLink } from "./bridges.ts";

/** A network name space and its link to the bridge of the cluster. */
export interface Connection {
  /** File that holds the name space. */
  readonly namespace: string;
  /** Name of the machine's end of the veth pair. */
  readonly link: string;
  readonly ip: string;
  readonly gateway: string;
  readonly bridge: string;
}

/** Name of the machine's end of a veth pair. */
export function linkName(key: string): string {
  return `dv${createHash("sha256").update(key).digest("hex").slice(0, 12)}`;
}

/** Configures a name space from its input. Without it the machine would redirect pods past its rules. */
const connectScript =
  '"$0" -batch - && for file in /proc/sys/net/ipv4/conf/*/accept_redirects; do echo 0 >"$file" || exit 1; done';

/**
 * Makes a network name space, in place of an earlier one, and connects it. Neither it nor the machine learns
 * hardware addresses: pods have CAP_NET_RAW by default, and could claim those of others.
 */
export async function connect({ namespace, link, ip, gateway, bridge }: Connection): Promise<void> {
  await unmountAll(namespace);
  makeFolderSync(dirname(namespace), 0o711);
  writeFileSync(namespace, "", { flag: "a", mode: 0o600 });
  await removeLink(link);
  const hardware = hardwareAddress(ip);
  const hasBridgeTool = find("bridge") !== undefined;
  // One end is made in the name space, the other one in this process's.
  await runTool("unshare", [`--net=${namespace}`, "--", "/bin/sh", "-c", connectScript, tool("ip")], {
    input: `link set lo up
link add eth0 address ${hardware} type veth peer name ${link} netns ${process.pid}
addr add ${ip}/32 dev eth0
link set eth0 up
neigh replace ${gateway} lladdr ${hardwareAddress(gateway)} nud permanent dev eth0
route add ${gateway} dev eth0 scope link
route add default via ${gateway}
`,
  });
  await runTool("ip", ["-batch", "-"], {
    input: `link set ${link} master ${bridge}
link set ${link} type bridge_slave hairpin on learning ${hasBridgeTool ? "off" : "on"}
link set ${link} up
neigh replace ${ip} lladdr ${hardware} nud permanent dev ${bridge}
`,
  });
  if (hasBridgeTool) await runTool("bridge", ["fdb", "replace", hardware, "dev", link, "master", "static"]);
}

/** Reports whether a name space of an earlier agent is as `connect` would make it. */
export async function isConnected({ namespace, link, ip, bridge }: Connection): Promise<boolean> {
  try {
    const [inner, outer] = await Promise.all([
      runTool("nsenter", [`--net=${namespace}`, "--", tool("ip"), "address", "show", "dev", "eth0"]),
      runTool("ip", ["link", "show", "dev", link]),
    ]);
    return inner.includes(` ${ip}/32 `) && outer.includes(` master ${bridge} `);
  } catch {
    return false;
  }
}

/** Allows what the network of a node does: it routes, and answers at its loopback address from elsewhere. */
export async function makeRouter(namespace: string): Promise<void> {
  const script =
    "echo 1 >/proc/sys/net/ipv4/ip_forward && echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet";
  await runTool("nsenter", [`--net=${namespace}`, "--", "/bin/sh", "-c", script]);
}
