import { type RouteEndpoint, type ServiceRoute, usableEndpoints } from "../routes.ts";

/** Kind of a connection: `internal` to the address of the Service, `external` to one of a node. */
export type Traffic = "internal" | "external";

/** The endpoint of a client with session affinity. */
interface Session {
  readonly endpoint: string;
  readonly usedAt: number;
}

/** Maximum number of clients whose endpoint is remembered. */
const maxSessions = 10_000;

/** Distributes the clients of a port of a Service over its endpoints, in turn. */
export class Balancer {
  readonly #now: () => number;
  #route: ServiceRoute;
  #usable: Record<Traffic, readonly RouteEndpoint[]>;
  #next = 0;
  /** In the order of their last use. */
  readonly #sessions = new Map<string, Session>();

  /** `now` returns milliseconds. */
  constructor(route: ServiceRoute, now: () => number) {
    this.#now = now;
    this.#route = route;
    this.#usable = usable(route);
  }

  get route(): ServiceRoute {
    return this.#route;
  }

  set route(route: ServiceRoute) {
    this.#route = route;
    this.#usable = usable(route);
    if (route.affinitySeconds === undefined) this.#sessions.clear();
  }

  /** Reports whether there is an endpoint. Without one connections are refused, as kube-proxy does. */
  serves(traffic: Traffic): boolean {
    return this.#usable[traffic].length > 0;
  }

  /** Returns the endpoints for a client, in the order in which they are tried. */
  endpointsFor(client: string, traffic: Traffic): readonly RouteEndpoint[] {
    const endpoints = this.#usable[traffic];
    const session = this.#sessionOf(client);
    const known = endpoints.findIndex((endpoint) => keyOf(endpoint) === session);
    const start = known >= 0 ? known : this.#next++ % Math.max(endpoints.length, 1);
    return [...endpoints.slice(start), ...endpoints.slice(0, start)];
  }

  /** Notes the endpoint that has accepted a client, which keeps it (`sessionAffinity: ClientIP`). */
  accepted(client: string, endpoint: RouteEndpoint): void {
    if (this.#route.affinitySeconds === undefined) return;
    this.#sessions.delete(client);
    this.#sessions.set(client, { endpoint: keyOf(endpoint), usedAt: this.#now() });
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
  }

  /** Upstream: kube-proxy's affinity lasts for the timeout after the last connection. */
  #sessionOf(client: string): string | undefined {
    const { affinitySeconds } = this.#route;
    const session = this.#sessions.get(client);
    if (affinitySeconds === undefined || session === undefined) return undefined;
    if (this.#now() < session.usedAt + affinitySeconds * 1000) return session.endpoint;
    this.#sessions.delete(client);
    return undefined;
  }
}

export function keyOf({ address, port }: RouteEndpoint): string {
  return `${address}:${port}`;
}

/**
 * The nodes of a machine share its address, so that all of them are near to a client: with a traffic policy
 * `Local` the endpoints on this machine count.
 */
function usable(route: ServiceRoute): Record<Traffic, readonly RouteEndpoint[]> {
  const near = { ...route, endpoints: route.endpoints.filter(({ address }) => isOnThisMachine(address)) };
  return {
    internal: usableEndpoints(route.internalLocal ? near : route),
    external: usableEndpoints(route.externalLocal ? near : route),
  };
}

export function isOnThisMachine(address: string): boolean {
  return address.startsWith("127.");
}
