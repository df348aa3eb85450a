import type { ClaimOperation } from "@dray/driver";

const operations = ["prepare", "unprepare"] as const;
const results = ["success", "error"] as const;

/** Upper bounds in seconds. Upstream: DefBuckets of prometheus/client_golang. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** The metrics of the public example driver, `dra_example_driver_*`, in addition to the SDK's. */
export interface ExampleMetrics {
  count(operation: ClaimOperation): void;
  countFatalError(): void;
  /** In the text format of Prometheus. */
  text(): string;
}

interface Histogram {
  count: number;
  /** Seconds. */
  sum: number;
  /** Number of observations up to each of `bounds`. */
  readonly buckets: number[];
}

export function exampleMetrics(): ExampleMetrics {
  const histograms = new Map<string, Histogram>();
  const key = (operation: string, result: string): string => `${operation}/${result}`;
  let fatalErrors = 0;
  return {
    count({ operation, error, seconds }) {
      const at = key(operation, error === undefined ? "success" : "error");
      const histogram = histograms.get(at) ?? { count: 0, sum: 0, buckets: bounds.map(() => 0) };
      histograms.set(at, histogram);
      histogram.count++;
      histogram.sum += seconds;
      for (const [i, bound] of bounds.entries()) if (seconds <= bound) histogram.buckets[i]!++;
    },
    countFatalError() {
      fatalErrors++;
    },
    text() {
      const families = operations.flatMap((operation) => {
        const claims = `dra_example_driver_${operation}_claims_total`;
        const duration = `dra_example_driver_${operation}_claim_duration_seconds`;
        const counted = results.map((result) => ({
          result,
          histogram: histograms.get(key(operation, result)),
        }));
        return [
          `# HELP ${claims} Claims that the driver was asked to ${operation}.`,
          `# TYPE ${claims} counter`,
          ...counted.map(({ result, histogram }) => `${claims}{result="${result}"} ${histogram?.count ?? 0}`),
          `# HELP ${duration} Seconds that it took to ${operation} a claim.`,
          `# TYPE ${duration} histogram`,
          ...counted.flatMap(({ result, histogram }) =>
            histogram === undefined ? [] : histogramLines(duration, result, histogram),
          ),
        ];
      });
      const fatal = "dra_example_driver_fatal_background_errors_total";
      const lines = [
        ...families,
        `# HELP ${fatal} Errors that ended the driver.`,
        `# TYPE ${fatal} counter`,
        `${fatal} ${fatalErrors}`,
      ];
      return `${lines.join("\n")}\n`;
    },
  };
}

function histogramLines(name: string, result: string, { count, sum, buckets }: Histogram): string[] {
  return [
    ...bounds.map((le, i) => `${name}_bucket{result="${result}",le="${le}"} ${buckets[i]}`),
    `${name}_bucket{result="${result}",le="+Inf"} ${count}`,
    `${name}_sum{result="${result}"} ${sum}`,
    `${name}_count{result="${result}"} ${count}`,
  ];
}
