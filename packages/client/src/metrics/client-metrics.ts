import type { RequestObserver } from "../rest/observe.ts";
import { type Counter, type Histogram, MetricsRegistry } from "./registry.ts";

/** Upper bounds in seconds. */
const durations = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** The code of an attempt without a response: texts of errors are not bounded. */
const errorCode = "<error>";

/**
 * Metrics of the requests and leases of a component: an option of its client and of its leader election
 * if they are served.
 *
 * Upstream: component-base, metrics/prometheus/restclient/metrics.go and clientgo/leaderelection/metrics.go.
 */
export class ClientMetrics {
  readonly #registry = new MetricsRegistry();
  readonly #elapsed: () => number;
  readonly #durations: Histogram;
  readonly #requests: Counter;
  readonly #isLeader = new Map<string, boolean>();

  /** `elapsed`: milliseconds from any point on, with fractions. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
    this.#durations = this.#registry.histogram(
      "rest_client_request_duration_seconds",
      "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
      durations,
      ["verb", "host"],
    );
    this.#requests = this.#registry.counter(
      "rest_client_requests_total",
      "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
      ["code", "method", "host"],
    );
    this.#registry.gauge(
      "leader_election_master_status",
      "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
      ["name"],
      () => [...this.#isLeader].map(([name, isLeader]) => [[name], isLeader ? 1 : 0] as const),
    );
  }

  /** Returns the observer of a client of `server`, a URL. */
  requestsTo(server: string): RequestObserver {
    const { host } = new URL(server);
    return {
      attempt: (method, status) =>
        this.#requests.add([status === undefined ? errorCode : String(status), method, host]),
      begin: (method) => {
        const since = this.#elapsed();
        return () => this.#durations.observe((this.#elapsed() - since) / 1000, [method, host]);
      },
    };
  }

  /** Sets whether this process holds the lease of that name. */
  setLeader(lease: string, isLeader: boolean): void {
    this.#isLeader.set(lease, isLeader);
  }

  /** Returns the metrics in the text format of Prometheus. */
  text(): string {
    return this.#registry.text();
  }
}
