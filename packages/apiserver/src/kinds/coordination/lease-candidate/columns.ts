import type { LeaseCandidate } from "@dray/api/coordination/v1beta1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

export const leaseCandidateColumns: Printer<LeaseCandidate> = {
  columns: columns("Name", "LeaseName", "BinaryVersion", "EmulationVersion", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.leaseName ?? "",
    spec?.binaryVersion ?? "",
    spec?.emulationVersion ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};
