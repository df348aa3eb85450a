import { Deployment } from "@dray/api/apps/v1";
import { defineServedKind } from "../../define.ts";
import { deploymentColumns } from "./columns.ts";

export const deployment = defineServedKind(Deployment, {
  facts: { status: "labels", scale: true, generation: "annotated" },
  columns: deploymentColumns,
});
