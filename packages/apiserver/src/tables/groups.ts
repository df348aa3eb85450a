import type { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { ageText } from "./age.ts";
import { columns, none, type Printer } from "./column.ts";

type Group = PodGroup | CompositePodGroup;

const policyOf = ({ spec }: Group): string => (spec?.schedulingPolicy?.gang === undefined ? "Basic" : "Gang");

const workloadOf = ({ spec }: Group): string => spec?.workloadRef?.workloadName ?? none;

/** Upstream: pkg/printers/internalversion/printers.go, printPodGroup. */
function statusOf({ status }: PodGroup): string {
  const find = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted);
  const disrupted = find("DisruptionTarget");
  if (disrupted !== undefined) return disrupted.reason ?? "";
  // 1.36 has the other name.
  const scheduled = find("PodGroupInitiallyScheduled") ?? find("PodGroupScheduled");
  if (scheduled === undefined) return "Pending";
  return scheduled.status === "True" ? "Scheduled" : "Unschedulable";
}

export const podGroups: Printer<PodGroup> = {
  columns: columns("Name", "Policy", "Workload", "Status", "Age"),
  cells: (group, now) => [
    group.metadata.name,
    policyOf(group),
    workloadOf(group),
    statusOf(group),
    ageText(group.metadata.creationTimestamp, now),
  ],
};

export const compositePodGroups: Printer<CompositePodGroup> = {
  columns: columns("Name", "Policy", "Workload", "Age"),
  cells: (group, now) => [
    group.metadata.name,
    policyOf(group),
    workloadOf(group),
    ageText(group.metadata.creationTimestamp, now),
  ],
};
