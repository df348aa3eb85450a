import { IPAddress } from "@dray/api/networking/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { ipAddressColumns } from "./columns.ts";

export const ipAddress: ServedKind<IPAddress> = defineServedKind(IPAddress, {
  facts: { deprecated: { v1beta1: { since: "1.34", gone: "1.37" } } },
  columns: ipAddressColumns,
});
