import { Histogram, head, labelText } from "../metrics/histogram.ts";

/**
 * Upper bounds of the histograms in seconds. Upstream: DRADurationBuckets, ExponentialBucketsRange(.1, 40,
 * 15).
 */
const bounds = Array.from({ length: 15 }, (_, i) => 0.1 * ((40 / 0.1) ** (1 / 14)) ** i);

/** Metrics of claims and drivers, with upstream's names. Upstream: pkg/kubelet/metrics/metrics.go. */
export class DraMetrics {
  readonly #operations = new Histogram(
    "dra_operations_duration_seconds",
    "Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.",
    bounds,
  );
  readonly #calls = new Histogram(
    "dra_grpc_operations_duration_seconds",
    "Duration in seconds of the DRA gRPC operations",
    bounds,
  );
  /** By operation, then by driver. */
  readonly #skips = { prepare: new Map<string, number>(), unprepare: new Map<string, number>() };

  operation(name: "PrepareResources" | "UnprepareResources", failed: boolean, milliseconds: number): void {
    this.#operations.observe({ is_error: String(failed), operation_name: name }, milliseconds);
  }

  /** `method` as on the wire, `code` in gRPC's name. */
  call(driver: string, method: string, code: string, milliseconds: number): void {
    this.#calls.observe({ driver_name: driver, grpc_status_code: code, method_name: method }, milliseconds);
  }

  skip(operation: "prepare" | "unprepare", driver: string): void {
    const counts = this.#skips[operation];
    counts.set(driver, (counts.get(driver) ?? 0) + 1);
  }

  /** Metrics in the text format of Prometheus. `claims` are the drivers of each claim in use. */
  text(claims: readonly (readonly string[])[]): string {
    const used = new Map<string, number>();
    for (const drivers of claims) for (const driver of drivers) used.set(driver, (used.get(driver) ?? 0) + 1);
    const name = "dra_resource_claims_in_use";
    const help =
      "The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.";
    const lines = [
      head(name, help, "gauge"),
      counted(name, [["<any>", claims.length], ...used]),
      this.#operations.lines(),
      this.#calls.lines(),
      this.#skipLines("prepare", "NodePrepareResources"),
      this.#skipLines("unprepare", "NodeUnprepareResources"),
    ].flat();
    return `${lines.join("\n")}\n`;
  }

  #skipLines(operation: "prepare" | "unprepare", method: string): string[] {
    const name = `dra_node_${operation}_skips_total`;
    const help = `Cumulative number of times ${method} gRPC calls were skipped due to SkipNodeOperations.`;
    return [...head(name, help, "counter"), ...counted(name, [...this.#skips[operation]])];
  }
}

/** Formats a line for each driver. */
function counted(name: string, counts: readonly (readonly [driver: string, count: number])[]): string[] {
  return counts.map(([driver, count]) => `${name}{${labelText({ driver_name: driver })}} ${count}`);
}
