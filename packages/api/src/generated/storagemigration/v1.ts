// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, StoredMeta } from "../../objects/object.ts";
import type { Condition, GroupResource, ListMeta } from "../meta/v1.ts";

export interface StorageVersionMigration {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: StorageVersionMigrationSpec;
  status?: StorageVersionMigrationStatus;
}

export const StorageVersionMigration: Kind<StorageVersionMigration> = {"group":"storagemigration.k8s.io","version":"v1","kind":"StorageVersionMigration","resource":"storageversionmigrations","namespaced":false};

export interface StorageVersionMigrationList {
  metadata?: ListMeta;
  items: StorageVersionMigration[];
}

export interface StorageVersionMigrationSpec {
  resource: GroupResource;
}

export interface StorageVersionMigrationStatus {
  conditions?: Condition[];
  resourceVersion?: string;
}
