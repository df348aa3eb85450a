import type { Pod, Service } from "@dray/api/core/v1";
import { timeText } from "@dray/client";

interface Seen {
  readonly service: number;
  readonly pods: ReadonlyMap<string, number>;
}

/**
 * Computes when the change happened that endpoints are written for: the annotation that the latency of
 * programming the network is measured with.
 *
 * Upstream: k8s.io/endpointslice/util/trigger_time_tracker.go.
 */
export class TriggerTimes {
  readonly #seen = new Map<string, Seen>();

  /** The earliest change since the last call for this Service; of a new one, its creation. */
  next(key: string, service: Service, pods: readonly Pod[]): string | undefined {
    const last = this.#seen.get(key);
    const created = Date.parse(service.metadata.creationTimestamp);
    const times = new Map<string, number>();
    for (const pod of pods) {
      const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
      if (ready?.lastTransitionTime) times.set(pod.metadata.name, Date.parse(ready.lastTransitionTime));
    }
    this.#seen.set(key, { service: created, pods: times });
    if (last === undefined) return timeText(created);
    const changed = [...times].filter(([name, time]) => time > (last.pods.get(name) ?? 0));
    const all = [...changed.map(([, time]) => time), ...(created > last.service ? [created] : [])];
    return all.length === 0 ? undefined : timeText(all.reduce((a, b) => Math.min(a, b)));
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}
