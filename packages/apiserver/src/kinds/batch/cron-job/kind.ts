import { CronJob } from "@dray/api/batch/v1";
import { defineServedKind } from "../../define.ts";
import { cronJobColumns } from "./columns.ts";

export const cronJob = defineServedKind(CronJob, {
  facts: { status: "keep", generation: true },
  columns: cronJobColumns,
});
