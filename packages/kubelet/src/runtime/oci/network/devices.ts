import { runTool, ToolError } from "../tools.ts";

interface Link {
  readonly ifname: string;
  readonly addr_info?: readonly {
    readonly local: string;
    readonly prefixlen: number;
    readonly scope: string;
  }[];
}

/**
 * Moves an interface of the machine into a name space, under another name if one is given, with its
 * addresses. One that is there already is left alone: a container of the pod was started before. When the
 * name space ends, the kernel gives physical interfaces and virtual functions back to the machine.
 *
 * Upstream: OCI runtime specification, config-linux.md, Network Devices; CDI netDevices.
 */
export async function moveInterface(
  interfaceName: string,
  namespace: string,
  newName: string,
): Promise<void> {
  for (const name of [interfaceName, newName])
    if (!/^[^\s/:]{1,15}$/.test(name))
      throw new ToolError(`${JSON.stringify(name)} is not the name of an interface`, undefined);
  const enter = [`--net=${namespace}`, "--", "ip"];
  const there = await runTool("nsenter", [...enter, "link", "show", "dev", newName]).catch(() => undefined);
  if (there !== undefined) return;
  const [link] = JSON.parse(
    await runTool("ip", ["-json", "address", "show", "dev", interfaceName]),
  ) as Link[];
  const addresses = (link?.addr_info ?? []).filter(({ scope }) => scope === "global");
  await runTool("ip", ["link", "set", "dev", interfaceName, "down", "netns", namespace]);
  await runTool("nsenter", [...enter, "-batch", "-"], {
    input: [
      `link set dev ${interfaceName} name ${newName}`,
      ...addresses.map(({ local, prefixlen }) => `addr add ${local}/${prefixlen} dev ${newName}`),
      `link set dev ${newName} up`,
      "",
    ].join("\n"),
  });
}
