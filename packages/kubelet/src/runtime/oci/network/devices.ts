import { runTool, ToolError, tool } from "../tools.ts";

interface Link {
  readonly ifname: string;
  readonly addr_info?: readonly {
    readonly local: string;
    readonly prefixlen: number;
    readonly scope: string;
  }[];
}

/** An interface, and its name in another name space. */
export interface MovedInterface {
  readonly name: string;
  readonly newName: string;
}

/**
 * Moves an interface of the node, or else of the machine, into a name space, with its addresses. One that is
 * there already is left alone: a container of the pod was started before. When the name space ends, the
 * kernel gives physical interfaces and virtual functions back to the machine.
 *
 * Upstream: OCI runtime specification, config-linux.md, Network Devices; CDI netDevices.
 */
export async function moveInterface(
  { name, newName }: MovedInterface,
  namespace: string,
  nodeNamespace: string | undefined,
): Promise<void> {
  for (const one of [name, newName])
    if (!/^[^\s/:]{1,15}$/.test(one))
      throw new ToolError(`${JSON.stringify(one)} is not the name of an interface`, undefined);
  const within = async (network: string | undefined, args: readonly string[], input = ""): Promise<string> =>
    network === undefined
      ? runTool("ip", args, { input })
      : runTool("nsenter", [`--net=${network}`, "--", tool("ip"), ...args], { input });
  const has = (network: string, one: string): Promise<boolean> =>
    within(network, ["link", "show", "dev", one]).then(
      () => true,
      () => false,
    );
  if (await has(namespace, newName)) return;
  const from = nodeNamespace !== undefined && (await has(nodeNamespace, name)) ? nodeNamespace : undefined;
  // Of ip(8), which writes no null.
  const [link] = JSON.parse(await within(from, ["-json", "address", "show", "dev", name])) as Link[];
  const addresses = (link?.addr_info ?? []).filter(({ scope }) => scope === "global");
  await within(from, ["link", "set", "dev", name, "down", "netns", namespace]);
  const commands = [
    `link set dev ${name} name ${newName}`,
    ...addresses.map(({ local, prefixlen }) => `addr add ${local}/${prefixlen} dev ${newName}`),
    `link set dev ${newName} up`,
    "",
  ];
  await within(namespace, ["-batch", "-"], commands.join("\n"));
}
