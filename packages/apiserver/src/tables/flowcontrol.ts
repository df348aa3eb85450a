import type { FlowSchema, PriorityLevelConfiguration } from "@dray/api/flowcontrol/v1";
import { ageText } from "./age.ts";
import { columns, none, type Printer } from "./column.ts";
import { compareFlowSchemas } from "./flow-schema-order.ts";

export const flowSchemas: Printer<FlowSchema> = {
  columns: columns("Name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL"),
  order: compareFlowSchemas,
  cells({ metadata, spec, status }, now) {
    const dangling = (status?.conditions ?? []).find(({ type }) => type === "Dangling");
    return [
      metadata.name,
      spec?.priorityLevelConfiguration.name ?? "",
      spec?.matchingPrecedence ?? 0,
      spec?.distinguisherMethod?.type ?? none,
      ageText(metadata.creationTimestamp, now),
      dangling === undefined ? "?" : (dangling.status ?? ""),
    ];
  },
};

export const priorityLevels: Printer<PriorityLevelConfiguration> = {
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
