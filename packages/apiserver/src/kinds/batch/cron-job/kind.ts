import { CronJob } from "@dray/api/batch/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { cronJobColumns } from "./columns.ts";

export const cronJob: ServedKind<CronJob> = defineServedKind(CronJob, {
  facts: { status: "keep", generation: true },
  columns: cronJobColumns,
});
