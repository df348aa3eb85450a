import type { PortRule } from "./addresses.ts";

/** Tables of iptables with what `iptables-restore --noflush` reads: it replaces the chains that it names, no others. */
export type Rules = readonly (readonly [table: string, text: string])[];

/**
 * The chains of a cluster, named after its bridge: `-ports` leads ports of the machine to pods, `-out` gives packets
 * that leave the cluster the machine's address, `-pass` lets pods through where others (Docker) let nothing pass.
 *
 * Upstream: the portmap and bridge plugins of containernetworking/plugins.
 */
export function portRules(bridge: string, network: string, ports: readonly PortRule[]): Rules {
  const lead = ports.map(
    ({ protocol, address, port, sandbox, targetAddress, targetPort }) =>
      `-A ${bridge}-ports -p ${protocol}${address === "" ? "" : ` -d ${address}`} --dport ${port} ` +
      `-m comment --comment ${sandbox} -j DNAT --to-destination ${targetAddress}:${targetPort}`,
  );
  // A pod cannot answer the address 127.0.0.1, and one that calls its own port must not see its own address.
  const own = ports.flatMap(({ protocol, targetAddress, targetPort }) => [
    `-A ${bridge}-out -s 127.0.0.0/8 -d ${targetAddress} -p ${protocol} --dport ${targetPort} -j MASQUERADE`,
    `-A ${bridge}-out -s ${targetAddress} -d ${targetAddress} -p ${protocol} --dport ${targetPort} -j MASQUERADE`,
  ]);
  return [
    [
      "nat",
      [
        "*nat",
        `:${bridge}-ports - [0:0]`,
        `:${bridge}-out - [0:0]`,
        ...lead,
        ...own,
        `-A ${bridge}-out -s ${network} ! -d ${network} -j MASQUERADE`,
        "COMMIT\n",
      ].join("\n"),
    ],
    [
      "filter",
      [
        "*filter",
        `:${bridge}-pass - [0:0]`,
        `-A ${bridge}-pass -s ${network} -j ACCEPT`,
        `-A ${bridge}-pass -d ${network} -j ACCEPT`,
        "COMMIT\n",
      ].join("\n"),
    ],
  ];
}

/** Removes the chains; nothing may lead to them any more. */
export function removalRules(bridge: string): Rules {
  const chains = (table: string, names: readonly string[]): string =>
    [
      `*${table}`,
      ...names.map((name) => `:${bridge}-${name} - [0:0]`),
      ...names.map((name) => `-X ${bridge}-${name}`),
      "COMMIT\n",
    ].join("\n");
  return [
    ["nat", chains("nat", ["ports", "out"])],
    ["filter", chains("filter", ["pass"])],
  ];
}
