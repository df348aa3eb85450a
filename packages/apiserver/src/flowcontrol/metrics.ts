import type { Configuration } from "./configuration.ts";
import type { FlowCounts } from "./counts.ts";
import type { PriorityLevel } from "./priority-level.ts";

const prefix = "apiserver_flowcontrol_";

/** Gauges of a priority level, by name. */
const ofLevels: Readonly<Record<string, (level: PriorityLevel) => number>> = {
  nominal_limit_seats: ({ nominalSeats }) => nominalSeats,
  lower_limit_seats: ({ minSeats }) => minSeats,
  upper_limit_seats: ({ maxSeats }) => maxSeats,
  current_limit_seats: ({ currentSeats }) => currentSeats,
  demand_seats_high_watermark: ({ highestDemand }) => highestDemand,
  demand_seats_average: ({ averageDemand }) => averageDemand,
  demand_seats_stdev: ({ demandDeviation }) => demandDeviation,
  demand_seats_smoothed: ({ smoothedDemand }) => smoothedDemand,
  target_seats: ({ targetSeats }) => targetSeats,
};

/** Gauges of a FlowSchema that has had requests, by name. */
const ofFlows: Readonly<Record<string, (counts: FlowCounts) => number>> = {
  current_executing_requests: ({ executing }) => executing,
  current_executing_seats: ({ executingSeats }) => executingSeats,
  current_inqueue_requests: ({ waiting }) => waiting,
  current_inqueue_seats: ({ waitingSeats }) => waitingSeats,
};

const labelsOf = ({ level, schema }: FlowCounts): string =>
  `flow_schema="${schema}",priority_level="${level}"`;

/**
 * Returns the metrics in the text format of Prometheus.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/metrics/metrics.go
 */
export function metricLines(configuration: Configuration): string[] {
  const { levels } = configuration;
  const used = [...configuration.counts].filter(
    ({ dispatched, rejected, waiting }) => dispatched > 0 || rejected.size > 0 || waiting > 0,
  );
  return [
    ...Object.entries(ofLevels).flatMap(([name, read]) => [
      `# TYPE ${prefix}${name} gauge`,
      ...levels.map((level) => `${prefix}${name}{priority_level="${level.name}"} ${read(level)}`),
    ]),
    `# TYPE ${prefix}seat_fair_frac gauge`,
    `${prefix}seat_fair_frac ${configuration.fairFraction}`,
    ...Object.entries(ofFlows).flatMap(([name, read]) => [
      `# TYPE ${prefix}${name} gauge`,
      ...used.map((counts) => `${prefix}${name}{${labelsOf(counts)}} ${read(counts)}`),
    ]),
    ...counterLines(used),
    ...histogramLines(used),
  ];
}

function counterLines(used: readonly FlowCounts[]): string[] {
  return [
    `# TYPE ${prefix}dispatched_requests_total counter`,
    ...used.map((counts) => `${prefix}dispatched_requests_total{${labelsOf(counts)}} ${counts.dispatched}`),
    `# TYPE ${prefix}rejected_requests_total counter`,
    ...used.flatMap((counts) =>
      [...counts.rejected].map(
        ([reason, count]) =>
          `${prefix}rejected_requests_total{${labelsOf(counts)},reason="${reason}"} ${count}`,
      ),
    ),
  ];
}

function histogramLines(used: readonly FlowCounts[]): string[] {
  const [wait, execution] = [`${prefix}request_wait_duration_seconds`, `${prefix}request_execution_seconds`];
  return [
    `# TYPE ${wait} histogram`,
    ...used.flatMap((counts) => [
      ...counts.executedWait.lines(wait, `execute="true",${labelsOf(counts)}`),
      ...counts.rejectedWait.lines(wait, `execute="false",${labelsOf(counts)}`),
    ]),
    `# TYPE ${execution} histogram`,
    ...used.flatMap((counts) => [
      ...counts.execution.lines(execution, `${labelsOf(counts)},type="regular"`),
      ...counts.watchExecution.lines(execution, `${labelsOf(counts)},type="watch"`),
    ]),
  ];
}
