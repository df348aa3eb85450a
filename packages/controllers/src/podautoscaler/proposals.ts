import { Quantity } from "@dray/api";
import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from "@dray/api/autoscaling/v2";
import type { Pod } from "@dray/api/core/v1";
import { selectorText } from "../shared/selector-text.ts";
import type { Metrics } from "./metrics-client.ts";
import {
  type PodMetricInput,
  type Proposal,
  replicasForShare,
  replicasForUsage,
  replicasForUtilization,
  replicasForValue,
  type Tolerances,
} from "./replica-calculator.ts";

/** By how much a metric may be off its target, unless the autoscaler says. */
const defaultTolerance = 0.1;

/** State that the metrics of an autoscaler are compared with. */
export interface ScaledPods {
  readonly selector: string;
  readonly pods: readonly Pod[];
  /** As the spec of the target has it, and as its status has it. */
  readonly wanted: number;
  readonly present: number;
  readonly now: number;
}

/** Replicas that one metric proposes. */
export interface MetricResult {
  readonly replicas: number;
  /** For events: `cpu resource utilization (percentage of request)`. */
  readonly name: string;
  readonly status: MetricStatus;
}

/** A metric that could not be read or compared. */
export class MetricFailure extends Error {
  override readonly name = "MetricFailure";
  /** Reason of the event and the condition. */
  readonly reason: string;
  /** Message of the condition. */
  readonly detail: string;

  constructor(reason: string, what: string, detail: string) {
    super(`failed to get ${what}: ${detail}`);
    this.reason = reason;
    this.detail = detail;
  }
}

const milli = (text: string): number => Number(Quantity.parse(text).milliValue());
const milliText = (value: number): string => String(Quantity.ofMilli(Math.round(value)));
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function tolerancesOf({ spec }: HorizontalPodAutoscaler): Tolerances {
  const read = (text: string | undefined): number =>
    text === undefined ? defaultTolerance : Quantity.parse(text).toNumber();
  return { up: read(spec.behavior?.scaleUp?.tolerance), down: read(spec.behavior?.scaleDown?.tolerance) };
}

/**
 * Returns how many pods a metric asks for. Rejects with a `MetricFailure`.
 *
 * Upstream: pkg/controller/podautoscaler/horizontal.go, computeReplicasForMetric.
 */
export async function proposeReplicas(
  metrics: Metrics,
  autoscaler: HorizontalPodAutoscaler,
  spec: MetricSpec,
  scaled: ScaledPods,
): Promise<MetricResult> {
  const input = {
    metrics,
    namespace: autoscaler.metadata.namespace,
    tolerances: tolerancesOf(autoscaler),
    scaled,
  };
  const { resource, containerResource, pods, object, external } = spec;
  if (resource !== undefined) {
    return failing("FailedGetResourceMetric", `${resource.name} resource metric value`, async () => {
      const { current, name, replicas } = await ofResource(input, resource.name, resource.target);
      return { replicas, name, status: { type: "Resource", resource: { name: resource.name, current } } };
    });
  }
  if (containerResource !== undefined) {
    const { name: of, container, target } = containerResource;
    const what = `${container} container metric value`;
    return failing("FailedGetContainerResourceMetric", what, async () => {
      const { current, name, replicas } = await ofResource(input, of, target, container);
      const status = { type: "ContainerResource", containerResource: { name: of, container, current } };
      return { replicas, name, status };
    });
  }
  if (pods !== undefined) {
    const { metric, target } = pods;
    return failing("FailedGetPodsMetric", "pods metric value", async () => {
      const usages = await named(`unable to get metric ${metric.name}`, () =>
        metrics.pods(input.namespace, scaled.selector, metric.name, metric.selector),
      );
      const proposal = replicasForUsage(inputOf(input, { usages }), milli(target.averageValue ?? "0"));
      const current = { averageValue: milliText(proposal.usage) };
      const name = `pods metric ${metric.name}`;
      return { replicas: proposal.replicas, name, status: { type: "Pods", pods: { metric, current } } };
    });
  }
  if (object !== undefined) {
    const { metric, target, describedObject } = object;
    return failing("FailedGetObjectMetric", "object metric value", async () => {
      const { kind, name: of } = describedObject;
      const where = `${kind} ${input.namespace}/${of}`;
      const value = await named(`unable to get metric ${metric.name} on ${where}`, () =>
        metrics.object(input.namespace, describedObject, metric.name, metric.selector),
      );
      const { current, replicas } = ofValue(input, value, target, "object");
      const name = `${kind} metric ${metric.name}`;
      return { replicas, name, status: { type: "Object", object: { describedObject, metric, current } } };
    });
  }
  if (external !== undefined) {
    const { metric, target } = external;
    return failing("FailedGetExternalMetric", `${metric.name} external metric value`, async () => {
      const values = await named(
        `unable to get external metric ${input.namespace}/${metric.name}/${selectorText(metric.selector)}`,
        () => metrics.external(input.namespace, metric.name, metric.selector),
      );
      const sum = values.reduce((total, value) => total + value, 0);
      const { current, replicas } = ofValue(input, sum, target, "external");
      const name = `external metric ${metric.name}(${selectorText(metric.selector)})`;
      return { replicas, name, status: { type: "External", external: { metric, current } } };
    });
  }
  const detail = `unknown metric source type ${JSON.stringify(spec.type)}`;
  throw new MetricFailure("InvalidMetricSourceType", "metric", detail);
}

interface ProposalInput {
  readonly metrics: Metrics;
  readonly namespace: string;
  readonly tolerances: Tolerances;
  readonly scaled: ScaledPods;
}

async function failing(
  reason: string,
  what: string,
  work: () => Promise<MetricResult>,
): Promise<MetricResult> {
  try {
    return await work();
  } catch (error) {
    throw new MetricFailure(reason, what, textOf(error));
  }
}

async function named<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${what}: ${textOf(error)}`);
  }
}

function inputOf(
  { scaled, tolerances }: ProposalInput,
  more: Pick<PodMetricInput, "usages" | "resource" | "container">,
): PodMetricInput {
  return { pods: scaled.pods, current: scaled.wanted, tolerances, now: scaled.now, ...more };
}

async function ofResource(
  input: ProposalInput,
  resource: string,
  target: MetricTarget,
  container?: string,
): Promise<{ replicas: number; name: string; current: MetricValueStatus }> {
  const { metrics, namespace, scaled } = input;
  const which = container === undefined ? { resource } : { resource, container };
  const { averageValue, averageUtilization } = target;
  // As metrics servers write them: memory in Ki, Mi, Gi.
  const format = resource === "memory" ? "BinarySI" : "DecimalSI";
  const usageText = ({ usage }: Proposal): string => String(Quantity.ofMilli(usage, format));
  const measured = async (): Promise<PodMetricInput> => {
    const usages = await named(`unable to get metrics for resource ${resource}`, () =>
      metrics.resource(namespace, scaled.selector, resource, container),
    );
    return inputOf(input, { usages, ...which });
  };
  if (averageValue !== undefined) {
    return named(`failed to get ${resource} usage`, async () => {
      const proposal = replicasForUsage(await measured(), milli(averageValue));
      const current = { averageValue: usageText(proposal) };
      return { replicas: proposal.replicas, name: `${resource} resource`, current };
    });
  }
  if (averageUtilization === undefined) {
    throw new Error(
      "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set",
    );
  }
  return named(`failed to get ${resource} utilization`, async () => {
    const proposal = replicasForUtilization(await measured(), averageUtilization);
    const kind = container === undefined ? "resource" : "container resource";
    const name = `${resource} ${kind} utilization (percentage of request)`;
    const current = {
      averageUtilization: proposal.utilization ?? 0,
      averageValue: usageText(proposal),
    };
    return { replicas: proposal.replicas, name, current };
  });
}

function ofValue(
  { scaled, tolerances }: ProposalInput,
  value: number,
  target: MetricTarget,
  source: string,
): { replicas: number; current: MetricValueStatus } {
  if (target.averageValue !== undefined) {
    const proposal = replicasForShare(scaled.present, value, milli(target.averageValue), tolerances);
    return { replicas: proposal.replicas, current: { averageValue: milliText(proposal.usage) } };
  }
  if (target.value === undefined) {
    throw new Error(
      `invalid ${source} metric source: neither a value target nor an average value target was set`,
    );
  }
  const proposal = replicasForValue(scaled, value, milli(target.value), tolerances);
  return { replicas: proposal.replicas, current: { value: milliText(proposal.usage) } };
}
