import type { FlowSchema } from "@dray/api/flowcontrol/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, none, type Printer } from "../../../tables/column.ts";
import { compareFlowSchemas } from "./order.ts";

export const flowSchemaColumns: Printer<FlowSchema> = {
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
