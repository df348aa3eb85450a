import type { ResourceClaim } from "@dray/api/resource/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

/** Returns the states of a claim: `pending`, `allocated`, `reserved`, `deleted`, joined by commas. */
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

export const resourceClaimColumns: Printer<ResourceClaim> = {
  columns: columns("Name", "State", "Age"),
  cells: (claim, now) => [
    claim.metadata.name,
    claimState(claim),
    ageText(claim.metadata.creationTimestamp, now),
  ],
};
