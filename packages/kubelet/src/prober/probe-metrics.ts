import type { Pod } from "@dray/api/core/v1";
import { metricText, type Sample } from "../metrics/prometheus.ts";

interface ProbeId {
  readonly podUid: string;
  readonly container: string;
  readonly type: string;
}

interface Series extends ProbeId {
  readonly results: Map<string, number>;
  /** Successful probes by bucket. */
  readonly buckets: number[];
  sum: number;
}

/** Seconds. Upstream: prometheus.DefBuckets. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Counts the probes of containers. Upstream: pkg/kubelet/prober/prober_manager.go, ProberResults,
 * ProberDuration.
 */
export class ProbeMetrics {
  readonly #series = new Map<string, Series>();

  note(
    { podUid, container, type }: ProbeId,
    result: "successful" | "failed" | "unknown",
    seconds: number,
  ): void {
    const key = [podUid, container, type].join("\0");
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { podUid, container, type, results: new Map(), buckets: bounds.map(() => 0), sum: 0 };
      this.#series.set(key, series);
    }
    series.results.set(result, (series.results.get(result) ?? 0) + 1);
    if (result !== "successful") return;
    const bucket = bounds.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
    series.sum += seconds;
  }

  /** Forgets a pod that is gone. */
  forget(podUid: string): void {
    for (const key of this.#series.keys()) if (key.startsWith(`${podUid}\0`)) this.#series.delete(key);
  }

  /** Metrics of existing pods in the text format of Prometheus. */
  text(pod: (uid: string) => Pod | undefined): string {
    const totals: Sample[] = [];
    const durations: Sample[] = [];
    for (const { podUid, container, type, results, buckets, sum } of this.#series.values()) {
      const found = pod(podUid);
      if (found === undefined) continue;
      const { namespace, name } = found.metadata;
      const labels = { container, namespace, pod: name };
      for (const [result, value] of results)
        totals.push({ labels: { ...labels, pod_uid: podUid, probe_type: type, result }, value });
      const count = results.get("successful");
      if (count === undefined) continue;
      const timed = { ...labels, probe_type: type };
      let below = 0;
      for (const [index, bound] of bounds.entries()) {
        below += buckets[index] ?? 0;
        durations.push({ suffix: "_bucket", labels: { ...timed, le: String(bound) }, value: below });
      }
      durations.push({ suffix: "_bucket", labels: { ...timed, le: "+Inf" }, value: count });
      durations.push({ suffix: "_sum", labels: timed, value: sum });
      durations.push({ suffix: "_count", labels: timed, value: count });
    }
    const help = "Cumulative number of a liveness, readiness or startup probe for a container by result.";
    return [
      metricText(
        "prober_probe_duration_seconds",
        "[ALPHA] Duration in seconds for a probe response.",
        "histogram",
        durations,
      ),
      metricText("prober_probe_total", `[BETA] ${help}`, "counter", totals),
    ].join("");
  }
}
