import type { CronJob } from "@dray/api/batch/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, counts, none, type Printer, selectorText, wide } from "../../../tables/column.ts";
import { templateCells, templateColumns } from "../../apps/columns.ts";

export const cronJobColumns: Printer<CronJob> = {
  columns: [
    ...columns("Name", "Schedule", "Timezone"),
    column("Suspend", { type: "boolean" }),
    ...counts("Active"),
    ...columns("Last Schedule", "Age"),
    ...templateColumns,
    ...wide("Selector"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.schedule ?? "",
    spec?.timeZone ?? none,
    spec?.suspend ? "True" : "False",
    (status?.active ?? []).length,
    status?.lastScheduleTime ? ageText(status.lastScheduleTime, now) : none,
    ageText(metadata.creationTimestamp, now),
    ...templateCells(spec?.jobTemplate?.spec?.template),
    selectorText(spec?.jobTemplate?.spec?.selector),
  ],
};
