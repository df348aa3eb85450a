import { Job } from "@dray/api/batch/v1";
import { defineServedKind } from "../../define.ts";
import { jobColumns } from "./columns.ts";
import { jobStrategy } from "./strategy.ts";

export const job = defineServedKind(Job, {
  facts: { status: "keep", generation: true, fields: ["status.successful"], fieldError: "job" },
  strategy: jobStrategy,
  columns: jobColumns,
});
