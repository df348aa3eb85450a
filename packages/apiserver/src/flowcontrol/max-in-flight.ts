import type { ApiResponse, UserInfo } from "@dray/client";
import { nodesGroup } from "../authorization/node.ts";
import type { RequestInfo } from "../request/info.ts";
import { isLongRunning } from "../request/long-running.ts";
import {
  kindOfRequest,
  type LimitedRequest,
  type Limiter,
  type RequestKind,
  tooManyRequests,
} from "./limiter.ts";

const healthPath = /^\/(?:healthz|livez|readyz)(?:\/|$)/;
const leaders = new Set(["system:kube-controller-manager", "system:kube-scheduler"]);

export interface Limits {
  /** Maximum number of read-only requests; 0 means no limit. */
  readonly readOnly: number;
  readonly mutating: number;
}

/** The counter to which a request belongs. */
type Seat = RequestKind | "leader-election" | "node-high" | "exempt";

/**
 * Limits the number of requests in flight without API Priority and Fairness, so that a server under load
 * serves some of them in time instead of all of them too late. Leader election and heartbeats of nodes, which
 * keep a cluster alive, have seats of their own; health checks and administrators are never rejected.
 */
export class MaxInFlightLimiter implements Limiter {
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

  async run({ info, user }: LimitedRequest, work: () => Promise<ApiResponse>): Promise<ApiResponse> {
    if (isLongRunning(info)) return work();
    const seat = seatOf(info, user);
    const count = this.#count(seat);
    const limit = this.#limits[seat];
    if (limit > 0 && count >= limit) return tooManyRequests();
    this.#counts.set(seat, count + 1);
    try {
      return await work();
    } finally {
      this.#counts.set(seat, this.#count(seat) - 1);
    }
  }

  count(kind: RequestKind): number {
    return this.#count(kind);
  }

  metrics(): readonly string[] {
    return [];
  }

  close(): void {}

  #count(seat: Seat): number {
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
  return kindOfRequest(info);
}

function isLeader({ name, groups }: UserInfo): boolean {
  return leaders.has(name) || groups.includes("system:serviceaccounts:kube-system");
}
