import { CSIStorageCapacity } from "@dray/api/storage/v1";
import { dated } from "../../../tables/plain.ts";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const csiStorageCapacity: ServedKind<CSIStorageCapacity> = defineServedKind(CSIStorageCapacity, {
  facts: { needsVersion: true },
  columns: dated,
});
