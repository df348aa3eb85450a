import { IngressClass } from "@dray/api/networking/v1";
import { defineServedKind } from "../../define.ts";
import { ingressClassColumns } from "./columns.ts";

export const ingressClass = defineServedKind(IngressClass, {
  facts: { generation: true },
  columns: ingressClassColumns,
});
