import type { DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { ResourcePoolStatusRequest } from "@dray/api/resource/v1alpha3";
import { ageText } from "./age.ts";
import { column, columns, counts, none, type Printer } from "./column.ts";

/** Where a claim is: `pending`, `allocated`, `reserved`, `deleted`, joined by commas. */
function claimState({ metadata, status }: ResourceClaim): string {
  const states: string[] = [];
  if (metadata.deletionTimestamp) states.push("deleted");
  if (status?.allocation) {
    states.push("allocated");
    if ((status.reservedFor ?? []).length > 0) states.push("reserved");
  } else if (states.length === 0) states.push("pending");
  // Upstream tells of the deletion first, then of the allocation.
  return states.join(",");
}

export const claims: Printer<ResourceClaim> = {
  columns: columns("Name", "State", "Age"),
  cells: (claim, now) => [
    claim.metadata.name,
    claimState(claim),
    ageText(claim.metadata.creationTimestamp, now),
  ],
};

export const slices: Printer<ResourceSlice> = {
  columns: columns("Name", "Node", "Driver", "Pool", "Age"),
  cells: (slice, now) => [
    slice.metadata.name,
    slice.spec?.nodeName ?? "",
    slice.spec?.driver ?? "",
    slice.spec?.pool?.name ?? "",
    ageText(slice.metadata.creationTimestamp, now),
  ],
};

export const rules: Printer<DeviceTaintRule> = {
  columns: columns("Name", "Key", "Value", "Effect", "TimeAdded", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.taint?.key ?? "",
    spec?.taint?.value ?? "",
    spec?.taint?.effect ?? "",
    ageText(spec?.taint?.timeAdded, now),
    ageText(metadata.creationTimestamp, now),
  ],
};

export const poolRequests: Printer<ResourcePoolStatusRequest> = {
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
