import type { ServiceRoute } from "../../../services/routes.ts";
import { find } from "../../host/isolation.ts";
import { runTool } from "../tools.ts";

/**
 * Selects stale UDP flows, as arguments of `conntrack --delete`: the kernel would go on sending packets of a
 * client that keeps its port to an endpoint that is gone.
 *
 * Upstream: pkg/proxy/conntrack/cleanup.go.
 */
export function staleFlows(
  before: readonly ServiceRoute[],
  after: readonly ServiceRoute[],
): readonly (readonly string[])[] {
  const endpoints = (routes: readonly ServiceRoute[]): Map<string, ReadonlySet<string>> =>
    new Map(
      routes
        .filter(({ protocol }) => protocol === "udp")
        .flatMap((route) => {
          const addresses = new Set(route.endpoints.map(({ address }) => address));
          return frontends(route).map((frontend) => [frontend.join(" "), addresses] as const);
        }),
    );
  const [old, now] = [endpoints(before), endpoints(after)];
  const gone = [...old].flatMap(([frontend, addresses]) =>
    [...addresses.difference(now.get(frontend) ?? new Set())].map((address) => [
      ...frontend.split(" "),
      "--dst-nat",
      address,
    ]),
  );
  const begun = [...now].flatMap(([frontend, { size }]) =>
    size > 0 && (old.get(frontend)?.size ?? 0) === 0 ? [frontend.split(" ")] : [],
  );
  return [...gone, ...begun];
}

/** Addresses and ports of a Service, as matches. */
function frontends({ clusterIP, port, externalIPs, nodePort }: ServiceRoute): readonly string[][] {
  return [
    ...[clusterIP, ...externalIPs].map((address) => ["--orig-dst", address, "--orig-port-dst", String(port)]),
    ...(nodePort === undefined ? [] : [["--orig-port-dst", String(nodePort)]]),
  ];
}

/** Ends UDP flows if the program `conntrack` is installed. */
export async function endFlows(flows: readonly (readonly string[])[]): Promise<void> {
  if (find("conntrack") === undefined) return;
  // Fails if there is no such flow, or the kernel does not allow it: then flows end when they are idle.
  for (const flow of flows)
    await runTool("conntrack", ["--delete", "--proto", "udp", ...flow]).catch(() => {});
}
