import { type Features, gateStage } from "@dray/api";
import type { Log } from "@dray/client";
import type { Limiter } from "../flowcontrol/limiter.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { RequestInfo } from "../request/info.ts";
import type { Storage } from "../storage/storage.ts";

/** Upper bounds of the histogram of durations, in seconds, as upstream. */
const bounds = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
/** Verbs whose label differs from their name. */
const verbs: Readonly<Record<string, string | undefined>> = {
  create: "POST",
  update: "PUT",
};

/** Methods with a label of their own; all others share one (OtherRequestMethod). */
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Counters of requests with the same labels. */
interface Counted {
  readonly byCode: Map<number, number>;
  /** Counts by bound, not cumulative; the last is the overflow bucket. */
  readonly durations: number[];
  /** Seconds. */
  sum: number;
}

/** A response to count. */
interface CountedResponse {
  readonly method: string;
  readonly info: RequestInfo | undefined;
  /** Undefined for unknown names: they get no labels, because the number of labels must be bounded. */
  readonly served: ServedResource | undefined;
  readonly code: number;
  /** Milliseconds until the response began. */
  readonly milliseconds: number;
}

/** Counts the server's work, with kube-apiserver's metric names. */
export class Metrics {
  /** By their labels. */
  readonly #requests = new Map<string, Counted>();

  count({ method, info, served, code, milliseconds }: CountedResponse): void {
    const labels = labelsOf(method, info, served);
    let counted = this.#requests.get(labels);
    if (counted === undefined) {
      const durations = new Array<number>(bounds.length + 1).fill(0);
      counted = { byCode: new Map(), durations, sum: 0 };
      this.#requests.set(labels, counted);
    }
    counted.byCode.set(code, (counted.byCode.get(code) ?? 0) + 1);
    const seconds = milliseconds / 1000;
    const bucket = bounds.findIndex((bound) => seconds <= bound);
    counted.durations[bucket < 0 ? bounds.length : bucket]!++;
    counted.sum += seconds;
  }

  /**
   * Returns which feature gates are on.
   * Upstream: component-base/metrics/prometheus/feature, RecordFeatureInfo.
   */
  static gates({ states, version }: Features): string {
    const lines = [...states].map(
      ([name, enabled]) =>
        `kubernetes_feature_enabled{name="${name}",stage="${gateStage(name, version)}"} ${enabled ? 1 : 0}`,
    );
    return ["# TYPE kubernetes_feature_enabled gauge", ...lines, ""].join("\n");
  }

  /** Returns the text exposition format of Prometheus. */
  text(storage: Storage, limiter: Limiter, log: Log): string {
    const lines = ["# TYPE apiserver_request_total counter"];
    for (const [labels, { byCode }] of this.#requests) {
      for (const [code, count] of byCode) {
        lines.push(`apiserver_request_total{code="${code}",${labels}} ${count}`);
      }
    }
    lines.push("# TYPE apiserver_request_duration_seconds histogram");
    for (const [labels, counted] of this.#requests) {
      for (const each of histogramLines("apiserver_request_duration_seconds", labels, counted))
        lines.push(each);
    }
    lines.push("# TYPE apiserver_current_inflight_requests gauge");
    for (const kind of ["mutating", "readOnly"] as const) {
      lines.push(`apiserver_current_inflight_requests{request_kind="${kind}"} ${limiter.count(kind)}`);
    }
    lines.push("# TYPE apiserver_storage_objects gauge", "# TYPE apiserver_longrunning_requests gauge");
    for (const [resource, cache] of storage.caches()) {
      lines.push(`apiserver_storage_objects{resource="${resource}"} ${cache.size}`);
      lines.push(
        `apiserver_longrunning_requests{component="apiserver",resource="${resource}",verb="WATCH"} ${cache.watchers}`,
      );
    }
    for (const each of limiter.metrics()) lines.push(each);
    lines.push(
      "# TYPE dray_log_lines_dropped_total counter",
      `dray_log_lines_dropped_total ${log.droppedLines ?? 0}`,
    );
    return `${lines.join("\n")}\n`;
  }
}

function histogramLines(name: string, labels: string, { durations, sum }: Counted): string[] {
  const lines: string[] = [];
  let total = 0;
  durations.forEach((count, index) => {
    total += count;
    lines.push(`${name}_bucket{${labels},le="${bounds[index] ?? "+Inf"}"} ${total}`);
  });
  lines.push(`${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${total}`);
  return lines;
}

function labelsOf(method: string, info: RequestInfo | undefined, served: ServedResource | undefined): string {
  if (info === undefined || served === undefined) {
    const verb = methods.has(method) ? method : "other";
    return `component="",dry_run="",group="",resource="",scope="",subresource="",verb="${verb}",version=""`;
  }
  const { group, version, resource } = info;
  const verb = verbs[info.verb] ?? info.verb.toUpperCase();
  const dryRun = info.query.getAll("dryRun").includes("All") ? "All" : "";
  const scope = info.name !== "" ? "resource" : info.namespace !== "" ? "namespace" : "cluster";
  const subresource = served.subresources.has(info.subresource) ? info.subresource : "";
  return `component="apiserver",dry_run="${dryRun}",group="${group}",resource="${resource}",scope="${scope}",subresource="${subresource}",verb="${verb}",version="${version}"`;
}
