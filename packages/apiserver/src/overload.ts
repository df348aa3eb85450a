import type { ApiResponse, UserInfo } from "@dray/client";
import { nodesGroup } from "./authorization/node.ts";
import type { RequestInfo } from "./request/info.ts";
import { textResponse } from "./response.ts";

const readOnlyVerbs = new Set(["get", "list", "watch"]);
const healthPath = /^\/(?:healthz|livez|readyz)(?:\/|$)/;
const leaders = new Set(["system:kube-controller-manager", "system:kube-scheduler"]);

export interface Limits {
  /** Requests that only read; 0 is no limit. */
  readonly readOnly: number;
  readonly mutating: number;
}

/** What a request is counted under. */
export type Seat = "readOnly" | "mutating" | "leader-election" | "node-high" | "exempt";

/**
 * Holds the number of requests that are worked on at the same time within limits, so that a server under load answers
 * some of them in time instead of all of them too late. What keeps a cluster alive has seats of its own, as in
 * upstream's priority levels: leader election, heartbeats of nodes; health checks and administrators are never refused.
 */
export class Overload {
  readonly #limits: Readonly<Record<Seat, number>>;
  readonly #counts = new Map<Seat, number>();

  constructor({ readOnly, mutating }: Limits) {
    const both = readOnly === 0 || mutating === 0 ? 0 : readOnly + mutating;
    this.#limits = {
      readOnly,
      mutating,
      "leader-election": both,
      "node-high": both,
      exempt: 0,
    };
  }

  /** Takes a seat and answers how to leave it; undefined where none is free. */
  enter(info: RequestInfo, user: UserInfo): (() => void) | undefined {
    const seat = seatOf(info, user);
    const count = this.count(seat);
    const limit = this.#limits[seat];
    if (limit > 0 && count >= limit) return undefined;
    this.#counts.set(seat, count + 1);
    return () => this.#counts.set(seat, this.count(seat) - 1);
  }

  count(seat: Seat): number {
    return this.#counts.get(seat) ?? 0;
  }
}

function seatOf(info: RequestInfo, user: UserInfo): Seat {
  if (user.groups.includes("system:masters")) return "exempt";
  if (!info.isResource && healthPath.test(info.path)) return "exempt";
  const { group, resource, namespace } = info;
  const leases = group === "coordination.k8s.io" && resource === "leases";
  if (leases && namespace === "kube-system" && isLeader(user)) return "leader-election";
  const heartbeat = (group === "" && resource === "nodes") || (leases && namespace === "kube-node-lease");
  if (heartbeat && user.groups.includes(nodesGroup)) return "node-high";
  return readOnlyVerbs.has(info.verb) ? "readOnly" : "mutating";
}

function isLeader({ name, groups }: UserInfo): boolean {
  return leaders.has(name) || groups.includes("system:serviceaccounts:kube-system");
}

/** 429 in the words of kube-apiserver. */
export function tooManyRequests(): ApiResponse {
  return textResponse(429, "Too many requests, please try again later.\n", { "retry-after": "1" });
}
