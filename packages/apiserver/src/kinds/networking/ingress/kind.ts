import { Ingress } from "@dray/api/networking/v1";
import { defineServedKind } from "../../define.ts";
import { ingressColumns } from "./columns.ts";

export const ingress = defineServedKind(Ingress, {
  facts: { status: "keep", generation: true },
  columns: ingressColumns,
});
