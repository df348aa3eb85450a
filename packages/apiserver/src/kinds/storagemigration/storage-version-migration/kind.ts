import { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import { defineServedKind } from "../../define.ts";
import { storageVersionMigrationColumns } from "./columns.ts";

export const storageVersionMigration = defineServedKind(StorageVersionMigration, {
  facts: {
    status: "reset",
    needsVersion: true,
    storageVersion: { "1.37": "v1beta1" },
    deprecated: {
      v1beta1: {
        since: "1.37",
        gone: "1.40",
        instead: "storagemigration.k8s.io/v1 StorageVersionMigration",
      },
    },
  },
  columns: storageVersionMigrationColumns,
});
