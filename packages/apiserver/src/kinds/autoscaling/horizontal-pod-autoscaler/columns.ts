import type { HorizontalPodAutoscaler, MetricSpec, MetricStatus } from "@dray/api/autoscaling/v2";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";

const shownMetrics = 2;
const unknown = "<unknown>";

interface Values {
  readonly value?: string;
  readonly averageValue?: string;
  readonly averageUtilization?: number;
}

/** Go's text of a missing quantity. */
const quantity = (value: string | undefined): string => value ?? "<nil>";

/** Returns the text of a metric with a quantity. */
function amount(target: Values, current: Values | undefined): string {
  if (target.averageValue !== undefined)
    return `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`;
  return `${current ? quantity(current.value) : unknown}/${quantity(target.value)}`;
}

const average = (target: Values, current: Values | undefined): string =>
  `${current ? quantity(current.averageValue) : unknown}/${quantity(target.averageValue)}`;

/** Returns the text of a metric of a resource: a quantity, or a percentage of the request. */
function share(name: string, target: Values, current: Values | undefined): string {
  if (target.averageValue !== undefined) return `${name}: ${average(target, current)}`;
  const percent = (share: number | undefined, otherwise: string): string =>
    share === undefined ? otherwise : `${share}%`;
  return `${name}: ${percent(current?.averageUtilization, unknown)}/${percent(target.averageUtilization, "<auto>")}`;
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case "External":
      return amount(spec.external?.target ?? {}, status?.external?.current);
    case "Object":
      return amount(spec.object?.target ?? {}, status?.object?.current);
    case "Pods":
      return average(spec.pods?.target ?? {}, status?.pods?.current);
    case "Resource":
      return share(spec.resource?.name ?? "", spec.resource?.target ?? {}, status?.resource?.current);
    case "ContainerResource": {
      const { name = "", target = {} } = spec.containerResource ?? {};
      return share(name, target, status?.containerResource?.current);
    }
    default:
      return "<unknown type>";
  }
}

export const horizontalPodAutoscalerColumns: Printer<HorizontalPodAutoscaler> = {
  columns: columns("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"),
  cells({ metadata, spec, status }, now) {
    const metrics = (spec?.metrics ?? []).map((metric, index) =>
      metricText(metric, status?.currentMetrics?.[index] ?? undefined),
    );
    const more = metrics.length - shownMetrics;
    const shown = metrics.slice(0, shownMetrics).join(", ");
    return [
      metadata.name,
      `${spec?.scaleTargetRef?.kind ?? ""}/${spec?.scaleTargetRef?.name ?? ""}`,
      more > 0 ? `${shown} + ${more} more...` : shown || none,
      spec?.minReplicas === undefined ? "<unset>" : String(spec.minReplicas),
      spec?.maxReplicas ?? 0,
      status?.currentReplicas ?? 0,
      ageText(metadata.creationTimestamp, now),
    ];
  },
};
