import type { PriorityLevelConfiguration } from "@dray/api/flowcontrol/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";

export const priorityLevelColumns: Printer<PriorityLevelConfiguration> = {
  columns: columns(
    "Name",
    "Type",
    "NominalConcurrencyShares",
    "Queues",
    "HandSize",
    "QueueLengthLimit",
    "Age",
  ),
  cells({ metadata, spec }, now) {
    const { limited } = spec ?? {};
    const queuing = limited?.limitResponse?.queuing;
    return [
      metadata.name,
      spec?.type ?? "",
      limited?.nominalConcurrencyShares ?? none,
      queuing?.queues ?? none,
      queuing?.handSize ?? none,
      queuing?.queueLengthLimit ?? none,
      ageText(metadata.creationTimestamp, now),
    ];
  },
};
