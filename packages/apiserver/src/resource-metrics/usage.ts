import { durationText, Quantity } from "@dray/api";
import type { Point, Reading } from "./reading.ts";

/** Average usage over an interval. */
export interface Usage {
  /** End of the interval, in milliseconds since the epoch. */
  readonly at: number;
  /** Length of the interval in milliseconds. */
  readonly window: number;
  readonly cores: number;
  readonly memoryBytes: number;
}

/**
 * Age in milliseconds at which a new container is measured from its start: the usage since then is its first.
 * Upstream requires at least ten seconds, the sampling interval of its kubelets.
 */
const freshAges = { min: 1_000, max: 60_000 };

/**
 * The last two readings of one node.
 *
 * Upstream: metrics-server, pkg/storage/node.go, pkg/storage/pod.go
 */
export class NodeUsage {
  #last: Reading = { node: undefined, pods: new Map() };
  /** For each series the newest point that is older than the one in `last`. */
  #previous: Reading = this.#last;

  /** Adds a reading of the node. */
  take(reading: Reading): void {
    const pods = new Map(
      [...reading.pods].map(([pod, containers]) => {
        const [last, previous] = [this.#last.pods.get(pod), this.#previous.pods.get(pod)];
        const points = [...containers].flatMap(([name, point]): [string, Point][] => {
          const before = pointBefore(point, last?.get(name), previous?.get(name));
          return before === undefined ? [] : [[name, before]];
        });
        return [pod, new Map(points)];
      }),
    );
    const node = reading.node && pointBefore(reading.node, this.#last.node, this.#previous.node);
    this.#previous = { node, pods };
    this.#last = reading;
  }

  /** Undefined until there are two points. */
  get node(): Usage | undefined {
    return usageOf(this.#last.node, this.#previous.node);
  }

  /** Returns the usage of the containers of a pod; undefined if one of them does not have two points yet. */
  pod(key: string): ReadonlyMap<string, Usage> | undefined {
    const found = new Map<string, Usage>();
    for (const [name, point] of this.#last.pods.get(key) ?? []) {
      const usage = usageOf(point, this.#previous.pods.get(key)?.get(name));
      if (usage === undefined) return undefined;
      found.set(name, usage);
    }
    return found.size === 0 ? undefined : found;
  }
}

/** Returns the point to which `point` is compared. Kubelets may report the same point twice. */
function pointBefore(point: Point, last: Point | undefined, previous: Point | undefined): Point | undefined {
  const { startedAt } = point;
  const isSame = (other: Point): boolean => startedAt === undefined || startedAt < other.at;
  if (last === undefined || !isSame(last)) return startOf(point);
  if (point.at > last.at) return last;
  return previous !== undefined && isSame(previous) && previous.at < point.at ? previous : undefined;
}

function startOf({ at, startedAt }: Point): Point | undefined {
  if (startedAt === undefined) return undefined;
  const age = at - startedAt;
  const fresh = age >= freshAges.min && age < freshAges.max;
  return fresh ? { at: startedAt, startedAt, cpuSeconds: 0, memoryBytes: 0 } : undefined;
}

function usageOf(point: Point | undefined, before: Point | undefined): Usage | undefined {
  // Less CPU time than before: the container has been replaced.
  if (point === undefined || before === undefined || point.cpuSeconds < before.cpuSeconds) return undefined;
  const window = point.at - before.at;
  const cores = ((point.cpuSeconds - before.cpuSeconds) * 1000) / window;
  return { at: point.at, window, cores, memoryBytes: point.memoryBytes };
}

/** Returns `usage` of metrics.k8s.io. */
export function usageQuantities({ cores, memoryBytes }: Usage): Record<string, string> {
  return {
    cpu: Quantity.ofNano(Math.floor(cores * 1e9)).toString(),
    memory: Quantity.of(Math.floor(memoryBytes), "BinarySI").toString(),
  };
}

export const windowText = ({ window }: Usage): string =>
  durationText(BigInt(Math.round(window)) * 1_000_000n);
