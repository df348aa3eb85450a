import { StorageClass } from "@dray/api/storage/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { storageClassColumns } from "./columns.ts";

export const storageClass: ServedKind<StorageClass> = defineServedKind(StorageClass, {
  facts: { answersDeleted: true },
  columns: storageClassColumns,
});
