import { createHash } from "node:crypto";
import { type RouteEndpoint, type ServiceRoute, usableEndpoints } from "../../../services/routes.ts";

/** Input of the rules of the Services of a cluster. */
export interface ServiceRulesInput {
  /** Name of the cluster's bridge. */
  readonly bridge: string;
  /** Addresses of all pods of the cluster: `10.200.0.0/16`. */
  readonly network: string;
  readonly services: readonly ServiceRoute[];
  /** The nodes of the cluster on this machine, and the addresses of their pods. */
  readonly nodes: readonly { readonly name: string; readonly range: string }[];
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
      ...nodes.flatMap(({ name, range }) =>
        lead(route, "services", `-s ${range} ${target}`, new Set([name])),
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
  const nodePort = (route: ServiceRoute): string[] =>
    route.nodePort === undefined
      ? []
      : external(route, `-m addrtype --dst-type LOCAL -p ${route.protocol} --dport ${route.nodePort}`);
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
