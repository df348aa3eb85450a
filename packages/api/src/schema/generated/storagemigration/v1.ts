// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { StoredMeta } from "../../../objects/object.ts";
import type { Condition, GroupResource, ListMeta } from "../meta/v1.ts";

export interface StorageVersionMigration {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** Desired state. */
  spec: StorageVersionMigrationSpec;
  /** Last observed status. The system writes it. */
  status?: StorageVersionMigrationStatus;
}

export interface StorageVersionMigrationList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
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
