import type { PortRule } from "./addresses.ts";
import { type ServiceRulesInput, serviceRules } from "./service-rules.ts";

/** Tables of iptables with what `iptables-restore --noflush` reads: it replaces the chains that it names, no others. */
export type Rules = readonly (readonly [table: string, text: string])[];

/** A place where a chain of the system leads to one of ours: before what is there, and those of the list before it. */
export interface Jump {
  readonly table: string;
  readonly chain: string;
  readonly rule: readonly string[];
  /** Behind what is there, so that of several clusters the first one keeps its place. */
  readonly last?: true;
}

/** Input of the rules of a cluster. */
export interface RulesInput extends ServiceRulesInput {
  /** Ports of the machine that lead to pods. */
  readonly ports: readonly PortRule[];
}

/** The chains of a cluster: their names follow that of its bridge. */
const chains = {
  nat: ["ports", "services", "external", "out"],
  filter: ["pass", "guard", "refuse"],
} as const;

/**
 * The rules of a cluster: `-ports` leads ports of the machine to pods, `-services` and `-external` lead addresses and
 * node ports of Services to endpoints, `-out` gives packets that leave the cluster or return to their sender the
 * machine's address, `-pass` lets pods through where others (Docker) let nothing pass, `-guard` keeps pods from what
 * listens on the machine's loopback address, `-refuse` answers for Services without endpoints.
 *
 * Upstream: the portmap and bridge plugins of containernetworking/plugins; pkg/proxy/iptables/proxier.go.
 */
export function clusterRules(input: RulesInput): Rules {
  const { bridge, network, ports } = input;
  const services = serviceRules(input);
  const lead = ports.map(
    ({ protocol, address, port, sandbox, targetAddress, targetPort }) =>
      `-A ${bridge}-ports -p ${protocol}${address === "" ? "" : ` -d ${address}`} --dport ${port} ` +
      `-m comment --comment ${sandbox} -j DNAT --to-destination ${targetAddress}:${targetPort}`,
  );
  // A pod that calls its own port or Service must not see its own address: it would answer itself.
  const own = [...new Set([...ports.map(({ targetAddress }) => targetAddress), ...services.endpoints])].map(
    (address) => `-A ${bridge}-out -s ${address} -d ${address} -m conntrack --ctstate DNAT -j MASQUERADE`,
  );
  return [
    text("nat", bridge, [
      ...lead,
      ...services.nat,
      // A pod cannot answer the address 127.0.0.1.
      `-A ${bridge}-out -s 127.0.0.0/8 -o ${bridge} -j MASQUERADE`,
      ...own,
      `-A ${bridge}-out -s ${network} ! -d ${network} -j MASQUERADE`,
    ]),
    text("filter", bridge, [
      `-A ${bridge}-pass -i ${bridge} -m conntrack --ctstate NEW -j ${bridge}-refuse`,
      `-A ${bridge}-pass -s ${network} -j ACCEPT`,
      `-A ${bridge}-pass -d ${network} -j ACCEPT`,
      // Packets to 127.0.0.0/8 arrive (route_localnet), also those that a pod has made itself (CVE-2020-8558).
      `-A ${bridge}-guard -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`,
      `-A ${bridge}-guard -m conntrack --ctstate DNAT -j ACCEPT`,
      ...services.filter,
    ]),
  ];
}

function text(table: keyof typeof chains, bridge: string, rules: readonly string[]): Rules[number] {
  const names = chains[table].map((name) => `:${bridge}-${name} - [0:0]`);
  return [table, [`*${table}`, ...names, ...rules, "COMMIT\n"].join("\n")];
}

/** Where the system's chains lead to ours. */
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

/** Removes the chains; nothing may lead to them any more. */
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
