import { ServiceCIDR } from "@dray/api/networking/v1";
import { defineServedKind } from "../../define.ts";
import { serviceCIDRColumns } from "./columns.ts";

export const serviceCIDR = defineServedKind(ServiceCIDR, {
  facts: { status: "reset", deprecated: { v1beta1: { since: "1.34", gone: "1.37" } } },
  columns: serviceCIDRColumns,
});
