import { ServiceCIDR } from "@dray/api/networking/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { serviceCIDRColumns } from "./columns.ts";

export const serviceCIDR: ServedKind<ServiceCIDR> = defineServedKind(ServiceCIDR, {
  facts: { status: "reset", deprecated: { v1beta1: { since: "1.34", gone: "1.37" } } },
  columns: serviceCIDRColumns,
});
