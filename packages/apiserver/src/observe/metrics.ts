import { type Features, gateStage } from "@dray/api";
import type { APIService } from "@dray/api/apiregistration/v1";
import { type Log, MetricsRegistry, WorkQueueMetrics } from "@dray/client";
import type { Limiter } from "../flowcontrol/limiter.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { RequestInfo } from "../request/info.ts";
import type { Storage } from "../storage/storage.ts";

/** Upper bounds of the histogram of durations, in seconds, as upstream. */
const durationBounds = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
/** Those of the durations that service level indicators count. */
const sliBounds = durationBounds.slice(2);
/** Those of the remaining life of certificates, in seconds. */
const expirationBounds = [
  ...[0, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000],
  ...[15_552_000, 31_104_000],
];
/** Verbs whose label differs from their name. */
const verbs: Readonly<Record<string, string | undefined>> = {
  create: "POST",
  update: "PUT",
};

/** Methods with a label of their own; all others share one (OtherRequestMethod). */
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Durations by bound, not cumulative; the last is the overflow bucket. */
interface Durations {
  readonly counts: number[];
  /** Seconds. */
  sum: number;
}

/** Counters of requests with the same labels. */
interface Counted {
  readonly byCode: Map<number, number>;
  readonly durations: Durations;
  /** Shared with the requests whose labels differ in `dry_run` only. */
  readonly slis: Durations;
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
  /** How many of them the request waited for a seat of priority and fairness. */
  readonly waited: number;
  /** The server has ended the request in self-defense. */
  readonly terminated: boolean;
}

/** Counts the server's work, with kube-apiserver's metric names. */
export class Metrics {
  /** By their labels. */
  readonly #requests = new Map<string, Counted>();
  /** By their labels without `dry_run`. */
  readonly #slis = new Map<string, Durations>();
  /** Number of requests that the server has ended, by their labels. */
  readonly #terminated = new Map<string, number>();
  readonly #registry = new MetricsRegistry();
  /** Upstream: apiserver/pkg/authentication/request/x509/x509.go, clientCertificateExpirationHistogram. */
  readonly #certificates = this.#registry.histogram(
    "apiserver_client_certificate_expiration_seconds",
    "[ALPHA] Distribution of the remaining lifetime on the certificate used to authenticate a request.",
    expirationBounds,
  );
  /** Metrics of the work queues of the server. */
  readonly workQueues = new WorkQueueMetrics(this.#registry);

  /** Counts a request by the milliseconds for which the certificate of its client is valid. */
  certificateUsed(milliseconds: number): void {
    this.#certificates.observe(milliseconds / 1000);
  }

  count({ method, info, served, code, milliseconds, waited, terminated }: CountedResponse): void {
    const labels = labelsOf(method, info, served);
    let counted = this.#requests.get(labels);
    if (counted === undefined) {
      const shared = withoutDryRun(labels);
      const slis = this.#slis.get(shared) ?? noDurations(sliBounds);
      this.#slis.set(shared, slis);
      counted = { byCode: new Map(), durations: noDurations(durationBounds), slis };
      this.#requests.set(labels, counted);
    }
    counted.byCode.set(code, (counted.byCode.get(code) ?? 0) + 1);
    if (terminated) {
      const key = `code="${code}",${withoutDryRun(labels)}`;
      this.#terminated.set(key, (this.#terminated.get(key) ?? 0) + 1);
    }
    observe(counted.durations, durationBounds, milliseconds / 1000);
    observe(counted.slis, sliBounds, Math.max(0, milliseconds - waited) / 1000);
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
    return [
      ...this.#requestLines(),
      ...headOf(
        "apiserver_current_inflight_requests",
        "gauge",
        "[STABLE] Number of requests that are being served, per request kind.",
      ),
      ...(["mutating", "readOnly"] as const).map(
        (kind) => `apiserver_current_inflight_requests{request_kind="${kind}"} ${limiter.count(kind)}`,
      ),
      ...storageLines(storage),
      ...limiter.metrics(),
      ...headOf("dray_log_lines_dropped_total", "counter", "Log lines that could not be written."),
      `dray_log_lines_dropped_total ${log.droppedLines ?? 0}`,
      this.#registry.text(),
    ].join("\n");
  }

  #requestLines(): string[] {
    const [total, terminations, duration, sli] = [
      "apiserver_request_total",
      "apiserver_request_terminations_total",
      "apiserver_request_duration_seconds",
      "apiserver_request_sli_duration_seconds",
    ];
    const requests = [...this.#requests];
    return [
      ...headOf(
        total,
        "counter",
        "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.",
      ),
      ...requests.flatMap(([labels, { byCode }]) =>
        [...byCode].map(([code, count]) => `${total}{code="${code}",${labels}} ${count}`),
      ),
      ...headOf(
        terminations,
        "counter",
        "[ALPHA] Number of requests which apiserver terminated in self-defense.",
      ),
      ...[...this.#terminated].map(([labels, count]) => `${terminations}{${labels}} ${count}`),
      ...headOf(
        duration,
        "histogram",
        "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.",
      ),
      ...requests.flatMap(([labels, { durations }]) =>
        histogramLines(duration, labels, durationBounds, durations),
      ),
      ...headOf(
        sli,
        "histogram",
        "[ALPHA] Response latency distribution (not counting priority & fairness queue wait times) in seconds for each verb, group, version, resource, subresource, scope and component.",
      ),
      ...[...this.#slis].flatMap(([labels, durations]) => histogramLines(sli, labels, sliBounds, durations)),
    ];
  }
}

/** Objects and watches by resource, and the API servers behind this one. */
function storageLines(storage: Storage): string[] {
  const caches = [...storage.caches()];
  const available = ({ status }: APIService): boolean =>
    status?.conditions?.some(({ type, status }) => type === "Available" && status === "True") ?? false;
  const services = storage.cache("apiservices");
  return [
    ...headOf("apiserver_storage_objects", "gauge", "[STABLE] Number of stored objects, by resource."),
    ...caches.map(([resource, cache]) => `apiserver_storage_objects{resource="${resource}"} ${cache.size}`),
    ...headOf("apiserver_longrunning_requests", "gauge", "[STABLE] Number of watches, by resource."),
    ...caches.map(
      ([resource, cache]) =>
        `apiserver_longrunning_requests{component="apiserver",resource="${resource}",verb="WATCH"} ${cache.watchers}`,
    ),
    ...headOf(
      "aggregator_unavailable_apiservice",
      "gauge",
      "[ALPHA] Gauge of APIServices which are marked as unavailable broken down by APIService name.",
    ),
    ...[...services.range(services.prefix)].map(
      ({ object }) =>
        `aggregator_unavailable_apiservice{name="${object.metadata.name}"} ${available(object as APIService) ? 0 : 1}`,
    ),
  ];
}

function withoutDryRun(labels: string): string {
  return labels.replace(/dry_run="[^"]*",/, "");
}

function headOf(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function noDurations(bounds: readonly number[]): Durations {
  return { counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 };
}

function observe(durations: Durations, bounds: readonly number[], seconds: number): void {
  let bucket = 0;
  while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++;
  durations.counts[bucket]!++;
  durations.sum += seconds;
}

function histogramLines(
  name: string,
  labels: string,
  bounds: readonly number[],
  { counts, sum }: Durations,
): string[] {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    return `${name}_bucket{${labels},le="${bounds[index] ?? "+Inf"}"} ${total}`;
  });
  return [...buckets, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${total}`];
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
