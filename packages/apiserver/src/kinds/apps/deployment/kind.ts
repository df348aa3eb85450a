import { Deployment } from "@dray/api/apps/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { deploymentColumns } from "./columns.ts";

export const deployment: ServedKind<Deployment> = defineServedKind(Deployment, {
  facts: { status: "labels", scale: true, generation: "annotated" },
  columns: deploymentColumns,
});
