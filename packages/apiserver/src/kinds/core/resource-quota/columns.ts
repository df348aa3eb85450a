import type { ResourceQuota } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

function usage({ status }: ResourceQuota, limits: boolean): string {
  return Object.entries(status?.hard ?? {})
    .filter(([name]) => name.startsWith("limits.") === limits)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, hard]) => `${name}: ${status?.used?.[name] ?? "0"}/${hard}`)
    .join(", ");
}

export const resourceQuotaColumns: Printer<ResourceQuota> = {
  columns: columns("Name", "Request", "Limit", "Age"),
  cells: (quota, now) => [
    quota.metadata.name,
    usage(quota, false),
    usage(quota, true),
    ageText(quota.metadata.creationTimestamp, now),
  ],
};
