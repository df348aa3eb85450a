import { CSIStorageCapacity } from "@dray/api/storage/v1";
import { dated } from "../../../tables/plain.ts";
import { defineServedKind } from "../../define.ts";

export const csiStorageCapacity = defineServedKind(CSIStorageCapacity, {
  facts: { needsVersion: true },
  columns: dated,
});
