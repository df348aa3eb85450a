import { Histogram, head, labelText } from "../metrics/histogram.ts";

/** Upper bounds of the histogram in seconds. Upstream: metrics.DefBuckets. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of device plugins, with upstream's names. Upstream: pkg/kubelet/metrics/metrics.go. */
export class DevicePluginMetrics {
  readonly #allocations = new Histogram(
    "kubelet_device_plugin_alloc_duration_seconds",
    "Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.",
    bounds,
  );
  readonly #registrations = new Map<string, number>();

  /** Counts a registration. Refused ones are not counted, since the label would have any number of values. */
  registered(resource: string): void {
    this.#registrations.set(resource, (this.#registrations.get(resource) ?? 0) + 1);
  }

  /** Counts a call of Allocate, whatever its result. */
  allocated(resource: string, milliseconds: number): void {
    this.#allocations.observe({ resource_name: resource }, milliseconds);
  }

  /** Metrics in the text format of Prometheus. */
  text(): string {
    const name = "kubelet_device_plugin_registration_total";
    const help = "Cumulative number of device plugin registrations. Broken down by resource name.";
    const counts = [...this.#registrations].map(
      ([resource, count]) => `${name}{${labelText({ resource_name: resource })}} ${count}`,
    );
    return `${[...head(name, help, "counter"), ...counts, ...this.#allocations.lines()].join("\n")}\n`;
  }
}
