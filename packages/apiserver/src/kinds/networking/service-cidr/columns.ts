import type { ServiceCIDR } from "@dray/api/networking/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

export const serviceCIDRColumns: Printer<ServiceCIDR> = {
  columns: columns("Name", "CIDRs", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    (spec?.cidrs ?? []).join(","),
    ageText(metadata.creationTimestamp, now),
  ],
};
