import type { PortRule } from "./addresses.ts";
import { nodesRange, octetOf } from "./addressing.ts";
import { type ServiceRulesInput, serviceRules } from "./service-rules.ts";

/**
 * Tables of iptables with input for `iptables-restore --noflush`, which replaces only the chains that it
 * names.
 */
export type Rules = readonly (readonly [table: string, text: string])[];

/**
 * A jump from a chain of the system to one of ours: before existing rules, and before earlier jumps of the
 * list.
 */
export interface Jump {
  readonly table: string;
  readonly chain: string;
  readonly rule: readonly string[];
  /** Appended, so that among several clusters the first one wins. */
  readonly last?: true;
}

/** Input of the rules of a cluster. */
export interface RulesInput extends ServiceRulesInput {
  /** Ports of nodes that are mapped to pods. */
  readonly ports: readonly PortRule[];
}

/** Chains of a cluster, named after its bridge. */
const chains = {
  nat: ["ports", "services", "external", "out"],
  filter: ["pass", "guard", "refuse"],
} as const;

/**
 * The rules of a cluster: `-ports` leads ports of nodes and the machine to pods, `-services` and `-external`
 * lead addresses and node ports of Services to endpoints, `-out` gives packets that leave the cluster or
 * return to their sender the machine's address, `-pass` lets pods through where others (Docker) let nothing
 * pass, `-guard` keeps pods from what listens on the machine's loopback address, `-refuse` answers for
 * Services without endpoints.
 *
 * Upstream: the portmap and bridge plugins of containernetworking/plugins; pkg/proxy/iptables/proxier.go.
 */
export function clusterRules(input: RulesInput): Rules {
  const { bridge, network, ports } = input;
  const services = serviceRules(input);
  const lead = ports.flatMap((rule) => portRules(bridge, rule));
  // A pod that calls its own port or Service must not see its own address, to which it would respond
  // directly.
  const own = [...new Set([...ports.map(({ targetAddress }) => targetAddress), ...services.endpoints])].map(
    (address) => `-A ${bridge}-out -s ${address} -d ${address} -m conntrack --ctstate DNAT -j MASQUERADE`,
  );
  return [
    text("nat", bridge, [
      ...lead,
      ...services.nat,
      // A pod cannot respond to the address 127.0.0.1.
      `-A ${bridge}-out -s 127.0.0.0/8 -o ${bridge} -j MASQUERADE`,
      ...own,
      `-A ${bridge}-out -s ${network} ! -d ${network} -j MASQUERADE`,
    ]),
    text("filter", bridge, [
      `-A ${bridge}-pass -i ${bridge} -m conntrack --ctstate NEW -j ${bridge}-refuse`,
      `-A ${bridge}-pass -s ${network} -j ACCEPT`,
      `-A ${bridge}-pass -d ${network} -j ACCEPT`,
      // Packets to 127.0.0.0/8 arrive (route_localnet), including forged ones of a pod (CVE-2020-8558).
      `-A ${bridge}-guard -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`,
      `-A ${bridge}-guard -m conntrack --ctstate DNAT -j ACCEPT`,
      ...services.filter,
    ]),
  ];
}

/**
 * Leads a port of a node to a pod: at the address of the node, and at those of the machine. Where several
 * nodes have networks of their own, the machine's port leads to the pod of the first of them.
 */
function portRules(bridge: string, rule: PortRule): readonly string[] {
  const { nodeAddress, protocol, address, port, sandbox, targetAddress, targetPort } = rule;
  const lead = (match: string): string =>
    `-A ${bridge}-ports -p ${protocol} ${match} --dport ${port} ` +
    `-m comment --comment ${sandbox} -j DNAT --to-destination ${targetAddress}:${targetPort}`;
  const atNode = nodeAddress !== undefined && (address === "" || address === nodeAddress);
  return [
    ...(atNode ? [lead(`-d ${nodeAddress}`)] : []),
    ...(address !== "" && address === nodeAddress
      ? []
      : [lead(address === "" ? "-m addrtype --dst-type LOCAL" : `-d ${address}`)]),
  ];
}

function text(table: keyof typeof chains, bridge: string, rules: readonly string[]): Rules[number] {
  const names = chains[table].map((name) => `:${bridge}-${name} - [0:0]`);
  return [table, [`*${table}`, ...names, ...rules, "COMMIT\n"].join("\n")];
}

/** Jumps from the system's chains to ours. */
export function jumpsOf(bridge: string): readonly Jump[] {
  const local = ["-m", "addrtype", "--dst-type", "LOCAL"];
  const started = ["-m", "conntrack", "--ctstate", "NEW"];
  const jump = (table: string, chain: string, name: string, match: readonly string[] = []): Jump => ({
    table,
    chain,
    rule: [...match, "-j", `${bridge}-${name}`],
  });
  return [
    jump("nat", "PREROUTING", "external"),
    jump("nat", "OUTPUT", "external"),
    jump("nat", "PREROUTING", "ports", local),
    jump("nat", "OUTPUT", "ports", local),
    jump("nat", "PREROUTING", "ports", ["-d", nodesRange(octetOf(bridge))]),
    jump("nat", "OUTPUT", "ports", ["-d", nodesRange(octetOf(bridge))]),
    // Another cluster on this machine may have the same addresses of Services.
    jump("nat", "PREROUTING", "services", ["-i", bridge]),
    { ...jump("nat", "OUTPUT", "services"), last: true },
    jump("nat", "POSTROUTING", "out"),
    jump("filter", "FORWARD", "pass"),
    jump("filter", "INPUT", "refuse", started),
    jump("filter", "INPUT", "guard", ["-i", bridge]),
    { ...jump("filter", "OUTPUT", "refuse", started), last: true },
  ];
}

/** Removes the chains, which must be unused. */
export function removalRules(bridge: string): Rules {
  return Object.entries(chains).map(([table, names]) => [
    table,
    [
      `*${table}`,
      ...names.map((name) => `:${bridge}-${name} - [0:0]`),
      ...names.map((name) => `-X ${bridge}-${name}`),
      "COMMIT\n",
    ].join("\n"),
  ]);
}
