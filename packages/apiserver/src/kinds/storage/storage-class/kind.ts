import { StorageClass } from "@dray/api/storage/v1";
import { defineServedKind } from "../../define.ts";
import { storageClassColumns } from "./columns.ts";

export const storageClass = defineServedKind(StorageClass, {
  facts: { answersDeleted: true },
  columns: storageClassColumns,
});
