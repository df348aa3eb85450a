import { IPAddress } from "@dray/api/networking/v1";
import { defineServedKind } from "../../define.ts";
import { ipAddressColumns } from "./columns.ts";

export const ipAddress = defineServedKind(IPAddress, {
  facts: { deprecated: { v1beta1: { since: "1.34", gone: "1.37" } } },
  columns: ipAddressColumns,
});
