import type { Lease } from "@dray/api/coordination/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

export const leaseColumns: Printer<Lease> = {
  columns: columns("Name", "Holder", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.holderIdentity ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};
