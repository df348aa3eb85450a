import type { Condition } from "@dray/api/meta/v1";
import type { StorageVersionMigration } from "@dray/api/storagemigration/v1";
import { timeText } from "@dray/client";
import type { ControllerContext } from "../shared/context.ts";
import { withCondition, writeStatus } from "../shared/status.ts";
import type { MigrationKind } from "./resource.ts";

/** Upstream: staging/src/k8s.io/api/storagemigration/v1/types.go, MigrationConditionType */
export type ConditionType = "Running" | "Succeeded" | "Failed";

/** Reasons of conditions that are True. Upstream: pkg/controller/storageversionmigrator. */
const reasons: Readonly<Record<ConditionType, string>> = {
  Running: "MigrationRunning",
  Succeeded: "StorageVersionMigrationSucceeded",
  Failed: "StorageVersionMigrationFailed",
};

export function hasCondition({ status }: StorageVersionMigration, type: ConditionType): boolean {
  return status?.conditions?.some((entry) => entry.type === type && entry.status === "True") ?? false;
}

/** Reports whether the migration has succeeded or failed: it is never run again. */
export function isFinished(migration: StorageVersionMigration): boolean {
  return hasCondition(migration, "Succeeded") || hasCondition(migration, "Failed");
}

/** Message of condition Running. Upstream: util.go, migrationRunningMessage */
export function runningMessage(progress?: MigrationProgress, error?: Error): string {
  let message = "The migration is running";
  if (progress !== undefined && progress.total > 0)
    message +=
      progress.remaining > 0
        ? `, ${progress.remaining}/${progress.total} objects not yet migrated`
        : `, ${progress.total} objects verified migrated`;
  return error === undefined ? message : `${message}; transient error: ${error.message}`;
}

/** Numbers of objects. */
export interface MigrationProgress {
  remaining: number;
  readonly total: number;
}

/**
 * Sets these conditions to True, with one message each, in one write. Rejects as requests do, with a conflict
 * if the migration has changed since it was read.
 */
export async function setConditions(
  { client, clock }: ControllerContext,
  kind: MigrationKind,
  migration: StorageVersionMigration,
  messages: Partial<Readonly<Record<ConditionType, string>>>,
): Promise<void> {
  const now = timeText(clock.now());
  let conditions: readonly Condition[] = migration.status?.conditions ?? [];
  for (const [type, message] of Object.entries(messages) as [ConditionType, string][]) {
    const condition = { type, status: "True", reason: reasons[type], message, lastTransitionTime: now };
    conditions = withCondition<Condition>(conditions, condition, now);
  }
  await writeStatus(client, kind, migration, { ...migration.status, conditions: [...conditions] });
}
