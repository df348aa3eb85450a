import { Job } from "@dray/api/batch/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { jobColumns } from "./columns.ts";
import { jobStrategy } from "./strategy.ts";

export const job: ServedKind<Job> = defineServedKind(Job, {
  facts: { status: "keep", generation: true, fields: ["status.successful"], fieldError: "job" },
  strategy: jobStrategy,
  columns: jobColumns,
});
