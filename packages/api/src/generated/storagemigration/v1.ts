// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/storagemigration/v1.ts";

export type * from "../../schema/generated/storagemigration/v1.ts";

export interface StorageVersionMigration extends types.StorageVersionMigration {}
export const StorageVersionMigration: Kind<StorageVersionMigration> = {"group":"storagemigration.k8s.io","version":"v1","kind":"StorageVersionMigration","resource":"storageversionmigrations","namespaced":false};
