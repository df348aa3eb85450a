import { IngressClass } from "@dray/api/networking/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { ingressClassColumns } from "./columns.ts";

export const ingressClass: ServedKind<IngressClass> = defineServedKind(IngressClass, {
  facts: { generation: true },
  columns: ingressClassColumns,
});
