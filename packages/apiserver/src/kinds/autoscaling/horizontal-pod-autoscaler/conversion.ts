import type { KubeObject } from "@dray/api";
import type { ApiVersion } from "../../define.ts";
import { isPlain, newSpec, newStatus, oldSpec, oldStatus, type Plain } from "./metrics.ts";

/**
 * autoscaling/v1 knows one metric, the share of processor time. All else of autoscaling/v2 stands in
 * annotations as JSON, so that a client of v1 that writes back what it has read loses nothing
 * (k8s.io/kubernetes/pkg/apis/autoscaling).
 */
const annotation = {
  metrics: "autoscaling.alpha.kubernetes.io/metrics",
  behavior: "autoscaling.alpha.kubernetes.io/behavior",
  currentMetrics: "autoscaling.alpha.kubernetes.io/current-metrics",
  conditions: "autoscaling.alpha.kubernetes.io/conditions",
} as const;
const ours: ReadonlySet<string> = new Set([
  ...Object.values(annotation),
  "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
  "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
]);

interface Autoscaler extends KubeObject {
  readonly spec?: Plain;
  readonly status?: Plain;
}

/** Converts v2 to v1. */
function toOldAutoscaler(object: KubeObject): KubeObject {
  const { spec = {}, status = {}, ...rest } = object as Autoscaler;
  const { metrics: allMetrics, behavior, ...plainSpec } = spec;
  const { currentMetrics: allCurrent, conditions: allConditions, ...plainStatus } = status;
  const [metrics, currentMetrics, conditions] = [list(allMetrics), list(allCurrent), list(allConditions)];
  const share = metrics.map(shareOf).find((value) => value !== undefined);
  const currentShare = currentMetrics.map(currentShareOf).findLast((value) => value !== undefined);
  const others = metrics.filter((metric) => shareOf(metric) === undefined);
  return withAnnotations(
    {
      ...rest,
      spec: { ...plainSpec, ...(share === undefined ? {} : { targetCPUUtilizationPercentage: share }) },
      status: {
        currentReplicas: 0,
        desiredReplicas: 0,
        ...plainStatus,
        ...(currentShare === undefined ? {} : { currentCPUUtilizationPercentage: currentShare }),
      },
    } as KubeObject,
    {
      ...(others.length > 0 ? { [annotation.metrics]: write(others.map(oldSpec)) } : {}),
      ...(currentMetrics.length > 0
        ? { [annotation.currentMetrics]: write(currentMetrics.map(oldStatus)) }
        : {}),
      ...(behavior === undefined ? {} : { [annotation.behavior]: write(oldBehavior(behavior as Plain)) }),
      ...(conditions.length > 0 ? { [annotation.conditions]: write(conditions.map(oldCondition)) } : {}),
    },
  );
}

/** Converts v1 to v2. Ignores invalid annotations. */
function fromOldAutoscaler(object: KubeObject): KubeObject {
  const { spec = {}, status = {}, ...rest } = object as Autoscaler;
  const { targetCPUUtilizationPercentage: share, ...plainSpec } = spec;
  const { currentCPUUtilizationPercentage: currentShare, currentReplicas, ...plainStatus } = status;
  const stored = object.metadata.annotations ?? {};
  const metrics = [
    ...(readList(stored[annotation.metrics]) ?? []).map(newSpec),
    ...(share === undefined
      ? []
      : [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: share } },
          },
        ]),
  ];
  const currentMetrics =
    readList(stored[annotation.currentMetrics])?.map(newStatus) ??
    (currentShare === undefined
      ? undefined
      : [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: currentShare } } }]);
  const conditions = readList(stored[annotation.conditions]);
  const behavior = newBehavior(read(stored[annotation.behavior]));
  return withAnnotations(
    {
      ...rest,
      spec: {
        ...plainSpec,
        metrics,
        ...(behavior === undefined ? {} : { behavior }),
      },
      status: {
        ...plainStatus,
        // v1 always has the number, v2 leaves zero out; it is the other way round with the metrics.
        ...(currentReplicas ? { currentReplicas } : {}),
        currentMetrics: currentMetrics ?? null,
        ...(conditions === undefined ? {} : { conditions }),
      },
    } as KubeObject,
    {},
  );
}

function list(value: unknown): readonly Plain[] {
  return Array.isArray(value) ? value : [];
}

function withAnnotations(object: KubeObject, added: Readonly<Record<string, string>>): KubeObject {
  const { annotations, ...metadata } = object.metadata;
  const kept = Object.entries(annotations ?? {}).filter(([name]) => !ours.has(name));
  const all = { ...Object.fromEntries(kept), ...added };
  return {
    ...object,
    metadata: { ...metadata, ...(Object.keys(all).length === 0 ? {} : { annotations: all }) },
  };
}

/** Encodes JSON as Go does: `<`, `>` and `&` are escaped. */
function write(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function read(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readList(text: string | undefined): readonly Plain[] | undefined {
  const value = read(text);
  return Array.isArray(value) && value.every(isPlain) ? value : undefined;
}

function part(metric: Plain, name: string): Plain | undefined {
  return metric[name] as Plain | undefined;
}

/** Returns the target of the metric that v1 has as a field. */
function shareOf(metric: Plain): unknown {
  const resource = part(metric, "resource");
  if (metric["type"] !== "Resource" || resource?.["name"] !== "cpu") return undefined;
  return part(resource, "target")?.["averageUtilization"];
}

function currentShareOf(metric: Plain): unknown {
  const resource = part(metric, "resource");
  if (metric["type"] !== "Resource" || resource?.["name"] !== "cpu") return undefined;
  return part(resource, "current")?.["averageUtilization"];
}

function oldCondition({ type, status, lastTransitionTime = null, reason, message }: Plain): Plain {
  return { type, status, lastTransitionTime, reason, message };
}

/** Returns the behavior with the field names of Go's structs. */
function oldBehavior({ scaleUp, scaleDown }: Plain): Plain {
  const rules = (value: unknown): unknown => {
    if (value === undefined) return null;
    const {
      stabilizationWindowSeconds = null,
      selectPolicy = null,
      policies,
      tolerance = null,
    } = value as Plain;
    return {
      StabilizationWindowSeconds: stabilizationWindowSeconds,
      SelectPolicy: selectPolicy,
      Policies:
        policies === undefined
          ? null
          : list(policies).map(({ type, value, periodSeconds }) => ({
              Type: type,
              Value: value,
              PeriodSeconds: periodSeconds,
            })),
      Tolerance: tolerance,
    };
  };
  return { ScaleUp: rules(scaleUp), ScaleDown: rules(scaleDown) };
}

function newBehavior(value: unknown): Plain | undefined {
  if (!isPlain(value)) return undefined;
  const rename = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(rename);
    if (!isPlain(item)) return item;
    const fields = Object.entries(item).filter(([, field]) => field !== null);
    return Object.fromEntries(
      fields.map(([name, field]) => [`${name.slice(0, 1).toLowerCase()}${name.slice(1)}`, rename(field)]),
    );
  };
  const behavior = rename(value) as Plain;
  return Object.keys(behavior).length === 0 ? undefined : behavior;
}

/** Converts between v1, whose newer fields stand in annotations, and v2. */
export function convertAutoscaler(object: KubeObject, _from: ApiVersion, to: ApiVersion): KubeObject {
  return to.version === "v1" ? toOldAutoscaler(object) : fromOldAutoscaler(object);
}
