import { Ingress } from "@dray/api/networking/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { ingressColumns } from "./columns.ts";

export const ingress: ServedKind<Ingress> = defineServedKind(Ingress, {
  facts: { status: "keep", generation: true },
  columns: ingressColumns,
});
