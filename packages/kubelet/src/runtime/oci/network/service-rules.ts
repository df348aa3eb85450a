import { createHash } from "node:crypto";
import { type RouteEndpoint, type ServiceRoute, usableEndpoints } from "../../../services/routes.ts";
import { hostsRange, nodesRange, octetOf } from "./addressing.ts";

/** A node of the cluster on this machine. */
export interface RuleNode {
  readonly name: string;
  /** Addresses of its pods. */
  readonly range: string;
  /** Its address in a network of its own; undefined if it has the machine's. */
  readonly address: string | undefined;
}

/** Input of the rules of the Services of a cluster. */
export interface ServiceRulesInput {
  /** Name of the cluster's bridge. */
  readonly bridge: string;
  /** Addresses of all pods of the cluster: `10.200.0.0/16`. */
  readonly network: string;
  readonly services: readonly ServiceRoute[];
  readonly nodes: readonly RuleNode[];
  /** Address of the cluster's DNS server; pods send queries to port 53 of it. */
  readonly dns: { readonly address: string; readonly port: number } | undefined;
}

export interface ServiceRules {
  readonly nat: readonly string[];
  readonly filter: readonly string[];
  /** Addresses of all endpoints in the rules. */
  readonly endpoints: ReadonlySet<string>;
}

/** Match arguments of iptables. */
type Match = string;

/**
 * Routes the addresses and node ports of Services to a random endpoint.
 *
 * Upstream: pkg/proxy/iptables/proxier.go, syncProxyRules; here in one chain instead of many.
 */
export function serviceRules({ bridge, network, services, nodes, dns }: ServiceRulesInput): ServiceRules {
  const filter: string[] = [];
  const endpoints = new Set<string>();
  const machine = new Set(nodes.map(({ name }) => name));

  const choose = (route: ServiceRoute, chain: string, match: Match, near?: ReadonlySet<string>): string[] => {
    const targets = usableEndpoints(route, near);
    for (const { address } of targets) endpoints.add(address);
    return choiceRules(bridge, `-A ${bridge}-${chain} ${match} ${comment(route.name)}`, route, targets);
  };
  /** Packets are refused without endpoints, or dropped if other nodes have some. */
  const lead = (route: ServiceRoute, chain: string, match: Match, near?: ReadonlySet<string>): string[] => {
    const rules = choose(route, chain, match, near);
    const verdict = route.endpoints.length === 0 ? "REJECT" : "DROP";
    if (rules.length === 0)
      filter.push(`-A ${bridge}-refuse ${match} ${comment(`${route.name} has no endpoints`)} -j ${verdict}`);
    return rules;
  };

  const match = (address: string, { protocol, port }: ServiceRoute): Match =>
    `-d ${address}/32 -p ${protocol} --dport ${port}`;
  const internal = (route: ServiceRoute): string[] => {
    const target = match(route.clusterIP, route);
    if (!route.internalLocal) return lead(route, "services", target);
    return [
      ...nodes.flatMap(({ name, range, address }) =>
        [range, ...(address === undefined ? [] : [`${address}/32`])].flatMap((source) =>
          lead(route, "services", `-s ${source} ${target}`, new Set([name])),
        ),
      ),
      // The machine itself counts as each of its nodes.
      ...lead(route, "services", `! -s ${network} ${target}`, machine),
    ];
  };
  const external = (route: ServiceRoute, target: Match): string[] => {
    if (!route.externalLocal) return lead(route, "external", target);
    // Pods and the machine count as clients of a load balancer that knows all endpoints.
    const all = [`-s ${network} ${target}`, `-m addrtype --src-type LOCAL ${target}`];
    return [
      ...all.flatMap((own) => choose(route, "external", own)),
      ...lead(route, "external", target, machine),
    ];
  };
  /** A node port with `externalTrafficPolicy: Local` at the address of a node that has its own network. */
  const localPort = (route: ServiceRoute, match: Match, { address, name }: RuleNode): string[] => {
    const target = `-d ${address}/32 ${match}`;
    // Other nodes and the machine are clients from outside, whose packets stay on the node; pods are not.
    const outside = `-s ${hostsRange(octetOf(bridge))} ${target}`;
    const near = new Set([name]);
    const chosen = lead(route, "external", outside, near);
    return [
      ...(chosen.length > 0 ? chosen : [`-A ${bridge}-external ${outside} -j RETURN`]),
      ...choose(route, "external", `-s ${network} ${target}`),
      ...lead(route, "external", target, near),
    ];
  };
  const nodePort = (route: ServiceRoute): string[] => {
    if (route.nodePort === undefined) return [];
    const match = `-p ${route.protocol} --dport ${route.nodePort}`;
    const machine = external(route, `-m addrtype --dst-type LOCAL ${match}`);
    const own = nodes.filter(({ address }) => address !== undefined);
    if (own.length === 0) return machine;
    if (route.externalLocal) return [...machine, ...own.flatMap((node) => localPort(route, match, node))];
    return [...machine, ...lead(route, "external", `-d ${nodesRange(octetOf(bridge))} ${match}`)];
  };
  const resolve = (["udp", "tcp"] as const).map(
    (protocol) =>
      `-A ${bridge}-services -d ${dns?.address}/32 -p ${protocol} --dport 53 ${comment("DNS")} -j DNAT --to-destination ${dns?.address}:${dns?.port}`,
  );
  return {
    nat: [
      ...(dns === undefined ? [] : resolve),
      ...services.flatMap(internal),
      ...services.flatMap((route) =>
        route.externalIPs.flatMap((address) => external(route, match(address, route))),
      ),
      ...services.flatMap(nodePort),
    ],
    filter,
    endpoints,
  };
}

/** Endpoints have equal probabilities; a client with affinity returns to its last one. */
function choiceRules(
  bridge: string,
  rule: string,
  { name, affinitySeconds }: ServiceRoute,
  targets: readonly RouteEndpoint[],
): string[] {
  const to = ({ address, port }: RouteEndpoint): string => `-j DNAT --to-destination ${address}:${port}`;
  const list = ({ address, port }: RouteEndpoint): string =>
    `${bridge}-${createHash("sha256").update(`${name} ${address}:${port}`).digest("hex").slice(0, 16)}`;
  const again = targets.map(
    (target) =>
      `${rule} -m recent --name ${list(target)} --update --seconds ${affinitySeconds} --reap ${to(target)}`,
  );
  const first = targets.map((target, index) => {
    const left = targets.length - index;
    const chance = left === 1 ? "" : ` -m statistic --mode random --probability ${(1 / left).toFixed(10)}`;
    const remember = affinitySeconds === undefined ? "" : ` -m recent --name ${list(target)} --set`;
    return `${rule}${chance}${remember} ${to(target)}`;
  });
  return affinitySeconds === undefined ? first : [...again, ...first];
}

/** Maximum length of a comment, in characters. */
const maxComment = 255;

/** Names of Services and ports need no quotes; our texts do. */
function comment(text: string): string {
  return `-m comment --comment "${text.slice(0, maxComment)}"`;
}
