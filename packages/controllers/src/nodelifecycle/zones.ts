import type { Node } from "@dray/api/core/v1";

/**
 * Milliseconds between two nodes of a zone whose pods are evicted. Upstream: --node-eviction-rate,
 * --secondary-node-eviction-rate.
 */
const evictionInterval = 10_000;
const disruptedInterval = 100_000;
/**
 * Minimum number and share of nodes that are not ready in a disrupted zone. Upstream:
 * --unhealthy-zone-threshold.
 */
const disruptedNodes = 3;
const disruptedShare = 0.55;
/** Maximum size of a zone whose pods stay while it is disrupted. Upstream: --large-cluster-size-threshold. */
const maxSmallZone = 50;
/** Label of nodes that do not count. */
const excluded = "node.kubernetes.io/exclude-disruption";

interface Zone {
  ready: number;
  total: number;
  /** Milliseconds since the epoch at which the pods of a node were last given up. */
  lastEviction: number;
}

/**
 * How many nodes of each zone are ready. Where many are lost at a time the network is more likely to blame
 * than the nodes, so that their pods are evicted slowly, or stay.
 *
 * Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go, ComputeZoneState and handleDisruption.
 */
export class Zones {
  readonly #nodes = new Map<string, { readonly zone: string; readonly ready: boolean }>();
  readonly #zones = new Map<string, Zone>();

  set(node: Node, ready: boolean): void {
    this.delete(node);
    const { name, labels = {} } = node.metadata;
    if (labels[excluded] !== undefined) return;
    const zone = zoneOf(node);
    this.#nodes.set(name, { zone, ready });
    const counts = this.#zones.get(zone) ?? { ready: 0, total: 0, lastEviction: Number.NEGATIVE_INFINITY };
    this.#zones.set(zone, counts);
    counts.total++;
    if (ready) counts.ready++;
  }

  delete({ metadata: { name } }: Node): void {
    const old = this.#nodes.get(name);
    const counts = old && this.#zones.get(old.zone);
    if (old === undefined || counts === undefined) return;
    this.#nodes.delete(name);
    counts.total--;
    if (old.ready) counts.ready--;
  }

  /** Reports whether no node of any zone is ready: nothing is evicted then. */
  get allDown(): boolean {
    let total = 0;
    for (const zone of this.#zones.values()) {
      if (zone.ready > 0) return false;
      total += zone.total;
    }
    return total > 0;
  }

  /**
   * Returns 0 if the pods of the node may be evicted now, and counts it; else the milliseconds after which to
   * ask again.
   */
  reserveEviction(node: Node, now: number): number {
    const zone = this.#zones.get(zoneOf(node));
    if (zone === undefined) return 0;
    const interval = intervalOf(zone);
    // The state of the zone may change before.
    if (interval === undefined) return evictionInterval;
    const wait = zone.lastEviction + interval - now;
    if (wait > 0) return Math.min(wait, evictionInterval);
    zone.lastEviction = now;
    return 0;
  }
}

/** Undefined: no pod is evicted. A zone that is lost as a whole is evicted like a healthy one. */
function intervalOf({ ready, total }: Zone): number | undefined {
  const lost = total - ready;
  const disrupted = ready > 0 && lost >= disruptedNodes && lost / total >= disruptedShare;
  if (!disrupted) return evictionInterval;
  return total > maxSmallZone ? disruptedInterval : undefined;
}

function zoneOf({ metadata: { labels = {} } }: Node): string {
  const region =
    labels["topology.kubernetes.io/region"] ?? labels["failure-domain.beta.kubernetes.io/region"];
  const zone = labels["topology.kubernetes.io/zone"] ?? labels["failure-domain.beta.kubernetes.io/zone"];
  return `${region ?? ""}/${zone ?? ""}`;
}
