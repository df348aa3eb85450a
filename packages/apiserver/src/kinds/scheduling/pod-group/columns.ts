import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";
import { policyOf, workloadOf } from "../columns.ts";

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

export const podGroupColumns: Printer<PodGroup> = {
  columns: columns("Name", "Policy", "Workload", "Status", "Age"),
  cells: (group, now) => [
    group.metadata.name,
    policyOf(group),
    workloadOf(group),
    statusOf(group),
    ageText(group.metadata.creationTimestamp, now),
  ],
};
