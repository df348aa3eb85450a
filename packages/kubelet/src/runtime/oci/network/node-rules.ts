import type { ServiceRoute } from "../../../services/routes.ts";
import type { PortRule } from "./addresses.ts";
import type { Jump, Rules } from "./rules.ts";

/** Input of the rules in the network of one node. */
export interface NodeRulesInput {
  readonly address: string;
  /** Address of the machine in the network of the cluster. */
  readonly gateway: string;
  /** Ports of all nodes. */
  readonly ports: readonly PortRule[];
  readonly services: readonly ServiceRoute[];
}

/**
 * Rules in the network of a node: packets of its own processes to its own addresses never pass the machine,
 * which has all other rules. `dray-ports` leads ports of the node to their pods, and node ports to the
 * machine; `dray-out` gives packets from the loopback address the address of the node, and `dray-guard` keeps
 * others from that address (CVE-2020-8558).
 */
export function nodeRules({ address, gateway, ports, services }: NodeRulesInput): Rules {
  const own = ports
    .filter(({ nodeAddress }) => nodeAddress === address)
    .map(
      (rule) =>
        `-A dray-ports -p ${rule.protocol}${rule.address === "" ? "" : ` -d ${rule.address}`} --dport ${rule.port} ` +
        `-j DNAT --to-destination ${rule.targetAddress}:${rule.targetPort}`,
    );
  const nodePorts = services.flatMap(({ protocol, nodePort }) =>
    nodePort === undefined
      ? []
      : [`-A dray-ports -p ${protocol} --dport ${nodePort} -j DNAT --to-destination ${gateway}`],
  );
  const nat = [
    "*nat",
    ":dray-ports - [0:0]",
    ":dray-out - [0:0]",
    ...own,
    ...nodePorts,
    "-A dray-out -s 127.0.0.0/8 ! -o lo -j MASQUERADE",
    "COMMIT\n",
  ];
  const filter = [
    "*filter",
    ":dray-guard - [0:0]",
    "-A dray-guard -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
    "COMMIT\n",
  ];
  return [
    ["nat", nat.join("\n")],
    ["filter", filter.join("\n")],
  ];
}

/** Jumps from the chains of the node's network to ours. */
export const nodeJumps: readonly Jump[] = [
  {
    table: "nat",
    chain: "OUTPUT",
    rule: ["-m", "addrtype", "--dst-type", "LOCAL", "-j", "dray-ports"],
  },
  { table: "nat", chain: "POSTROUTING", rule: ["-j", "dray-out"] },
  { table: "filter", chain: "INPUT", rule: ["-i", "eth0", "-j", "dray-guard"] },
];
