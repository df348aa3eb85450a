// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/batch/v1.ts";

export type * from "../../schema/generated/batch/v1.ts";

/** Creates jobs at certain times. */
export interface CronJob extends types.CronJob {}
/** Creates jobs at certain times. */
export const CronJob: Kind<CronJob> = {"group":"batch","version":"v1","kind":"CronJob","resource":"cronjobs","namespaced":true};

/** Runs pods until a number of them has succeeded. */
export interface Job extends types.Job {}
/** Runs pods until a number of them has succeeded. */
export const Job: Kind<Job> = {"group":"batch","version":"v1","kind":"Job","resource":"jobs","namespaced":true};
