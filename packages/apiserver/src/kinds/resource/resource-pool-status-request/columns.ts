import type { ResourcePoolStatusRequest } from "@dray/api/resource/v1alpha3";
import { ageText } from "../../../tables/age.ts";
import { column, columns, counts, none, type Printer } from "../../../tables/column.ts";

export const resourcePoolStatusRequestColumns: Printer<ResourcePoolStatusRequest> = {
  columns: [
    ...columns("Name", "Driver", "Total", "Available", "Allocated", "Unavailable", "Errors"),
    ...counts("Pools"),
    column("Status"),
    column("Completed"),
  ],
  cells({ metadata, spec, status }, now) {
    const pools = status?.pools ?? [];
    const sum = (
      field: "totalDevices" | "availableDevices" | "allocatedDevices" | "unavailableDevices",
    ): string => (status ? String(pools.reduce((total, pool) => total + Number(pool[field] ?? 0), 0)) : "-");
    const done = (status?.conditions ?? []).find(
      ({ type, status: state }) => (type === "Complete" || type === "Failed") && state === "True",
    );
    return [
      metadata.name,
      spec?.driver ?? "",
      sum("totalDevices"),
      sum("availableDevices"),
      sum("allocatedDevices"),
      sum("unavailableDevices"),
      status ? String(pools.filter(({ validationError }) => validationError).length) : "-",
      Number(status?.poolCount ?? 0),
      done?.type ?? "Pending",
      done ? ageText(done.lastTransitionTime, now) : none,
    ];
  },
};
