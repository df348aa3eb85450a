import { Quantity } from "@dray/api";
import type { Container, Pod } from "@dray/api/core/v1";
import { hasPodLevelRequests, isPodReady, podRequests, sidecarsOf } from "@dray/api/pod";
import type { PodUsage, PodUsages } from "./metrics-client.ts";

/** Milliseconds after the start of a pod within which what it uses of the processor may not count. */
const initialisation = 300_000;
/** Milliseconds within which a pod that is not ready counts as never having been. */
const initialReadiness = 30_000;
const maxInt32 = 2 ** 31 - 1;

/** By how much the usage may differ from the target, as a share, before anything is done. */
export interface Tolerances {
  readonly down: number;
  readonly up: number;
}

/** How many pods a metric asks for, and what it was worth. */
export interface Proposal {
  readonly replicas: number;
  /** The average of a pod, or for a value of a whole object that, in thousandths. */
  readonly usage: number;
  /** In percent of the request. */
  readonly utilization?: number;
}

export interface PodMetricInput {
  readonly pods: readonly Pod[];
  readonly usages: PodUsages;
  /** For resources: the processor takes time to settle. */
  readonly resource?: string;
  readonly container?: string;
  readonly current: number;
  readonly tolerances: Tolerances;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const isWithin = (ratio: number, { down, up }: Tolerances): boolean => 1 - down <= ratio && ratio <= 1 + up;
const upwards = (value: number): number => Math.min(Math.ceil(value), maxInt32);

/**
 * Pods for an average usage that each is to have. Upstream: replica_calculator.go, calcPlainMetricReplicas.
 */
export function replicasForUsage(input: PodMetricInput, target: number): Proposal {
  const average = (usages: ReadonlyMap<string, number>): { ratio: number; usage: number } => {
    let total = 0;
    for (const value of usages.values()) total += value;
    const usage = Math.trunc(total / usages.size);
    return { ratio: usage / target, usage };
  };
  return propose(input, average, () => target);
}

/** Pods for a share of their requests, in percent. Upstream: replica_calculator.go, GetResourceReplicas. */
export function replicasForUtilization(input: PodMetricInput, target: number): Proposal {
  let requests: Map<string, number> | undefined;
  const read = (): Map<string, number> => {
    requests ??= new Map(input.pods.map((pod) => [pod.metadata.name, requestOf(pod, input)]));
    return requests;
  };
  const share = (usages: ReadonlyMap<string, number>) => {
    let used = 0;
    let requested = 0;
    let count = 0;
    for (const [name, value] of usages) {
      const request = read().get(name);
      if (request === undefined) continue;
      used += value;
      requested += request;
      count++;
    }
    if (requested === 0) throw new Error("no metrics returned matched known pods");
    const utilization = Math.trunc((used * 100) / requested);
    return { ratio: utilization / target, usage: Math.trunc(used / count), utilization };
  };
  return propose(input, share, (name) => ((read().get(name) ?? 0) * Math.max(100, target)) / 100);
}

/** Pods for the value of an object, or an external one, as a whole. `pods` are those that are scaled. */
export function replicasForValue(
  { pods, wanted }: { readonly pods: readonly Pod[]; readonly wanted: number },
  value: number,
  target: number,
  tolerances: Tolerances,
): Proposal {
  const ratio = value / target;
  if (wanted === 0) return { replicas: upwards(ratio), usage: value };
  if (isWithin(ratio, tolerances)) return { replicas: wanted, usage: value };
  if (pods.length === 0)
    throw new Error(
      "unable to calculate ready pods: no pods returned by selector while calculating replica count",
    );
  const ready = pods.filter((pod) => pod.status?.phase === "Running" && isPodReady(pod)).length;
  return { replicas: upwards(ratio * ready), usage: value };
}

/** Replicas of which each takes `target` of a shared value. */
export function replicasForShare(
  current: number,
  value: number,
  target: number,
  tolerances: Tolerances,
): Proposal {
  const steady = isWithin(value / (target * current), tolerances);
  const usage = current === 0 ? value : Math.ceil(value / current);
  return { replicas: steady ? current : upwards(value / target), usage };
}

type Ratio = { readonly ratio: number; readonly usage: number; readonly utilization?: number };

/**
 * Pods without a value count as if they wanted no change in the direction that the others ask for, and those
 * that are not ready as idle when there are to be more.
 */
function propose(
  input: PodMetricInput,
  ratioOf: (usages: ReadonlyMap<string, number>) => Ratio,
  assumed: (name: string) => number,
): Proposal {
  const { pods, current, tolerances } = input;
  if (pods.length === 0) throw new Error("no pods returned by selector while calculating replica count");
  const { counted, ready, unready, missing } = groupPods(input);
  if (counted.size === 0)
    throw new Error("did not receive metrics for targeted pods (pods might be unready)");
  const { ratio, ...measured } = ratioOf(counted);
  const unchanged = { replicas: current, ...measured };
  const idle = ratio > 1 ? unready : [];
  if (idle.length === 0 && missing.length === 0) {
    if (isWithin(ratio, tolerances)) return unchanged;
    return { replicas: upwards(ratio * ready), ...measured };
  }
  const filled = new Map(counted);
  for (const name of missing) {
    if (ratio < 1) filled.set(name, assumed(name));
    else if (ratio > 1) filled.set(name, 0);
  }
  for (const name of idle) filled.set(name, 0);
  const after = ratioOf(filled).ratio;
  const turned = (ratio < 1 && after > 1) || (ratio > 1 && after < 1);
  if (isWithin(after, tolerances) || turned) return unchanged;
  const replicas = upwards(after * filled.size);
  if ((after < 1 && replicas > current) || (after > 1 && replicas < current)) return unchanged;
  return { replicas, ...measured };
}

interface Groups {
  readonly counted: Map<string, number>;
  /** How many pods have a value that counts. */
  readonly ready: number;
  readonly unready: string[];
  readonly missing: string[];
}

/** Upstream: replica_calculator.go, groupPods. */
function groupPods({ pods, usages, resource, now }: PodMetricInput): Groups {
  const counted = new Map(Array.from(usages, ([name, { value }]) => [name, value]));
  const unready: string[] = [];
  const missing: string[] = [];
  let ready = 0;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const usage = usages.get(name);
    if (deletionTimestamp !== undefined || pod.status?.phase === "Failed") counted.delete(name);
    else if (pod.status?.phase === "Pending") unready.push(name);
    else if (usage === undefined) missing.push(name);
    else if (resource === "cpu" && isSettling(pod, usage, now)) unready.push(name);
    else ready++;
  }
  for (const name of unready) counted.delete(name);
  return { counted, ready, unready, missing };
}

/** Reports whether the pod's CPU usage is not yet representative. */
function isSettling({ status }: Pod, usage: PodUsage, now: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready === undefined || status?.startTime === undefined) return true;
  const started = Date.parse(status.startTime);
  const changed = Date.parse(ready.lastTransitionTime ?? "") || 0;
  if (started + initialisation > now) return ready.status === "False" || usage.at < changed + usage.window;
  return ready.status === "False" && started + initialReadiness > changed;
}

/** Request of a pod, or its container, in thousandths. Throws if a container has no request. */
function requestOf(pod: Pod, { resource = "", container }: PodMetricInput): number {
  const { name } = pod.metadata;
  if (container === undefined && hasPodLevelRequests(pod)) {
    const request = podRequests(pod).get(resource);
    if (request === undefined) throw new Error(`missing pod-level request for ${resource} in Pod ${name}`);
    return Number(request.milliValue());
  }
  const all = [...pod.spec.containers, ...sidecarsOf(pod.spec)];
  const wanted = all.filter((each) => container === undefined || each.name === container);
  if (wanted.length === 0) throw new Error(`container ${container} not found in Pod ${name}`);
  const read = ({ name: of, resources }: Container): number => {
    const text = resources?.requests?.[resource];
    if (text === undefined)
      throw new Error(`missing request for ${resource} in container ${of} of Pod ${name}`);
    return Number(Quantity.parse(String(text)).milliValue());
  };
  return wanted.reduce((total, each) => total + read(each), 0);
}
