// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/apps/v1.ts";

export type * from "../../schema/generated/apps/v1.ts";

/** A former template of a DaemonSet or StatefulSet, kept for a rollback. */
export interface ControllerRevision extends types.ControllerRevision {}
/** A former template of a DaemonSet or StatefulSet, kept for a rollback. */
export const ControllerRevision: Kind<ControllerRevision> = {"group":"apps","version":"v1","kind":"ControllerRevision","resource":"controllerrevisions","namespaced":true};

/** Runs one pod on each node, or on those that the pod selects. */
export interface DaemonSet extends types.DaemonSet {}
/** Runs one pod on each node, or on those that the pod selects. */
export const DaemonSet: Kind<DaemonSet> = {"group":"apps","version":"v1","kind":"DaemonSet","resource":"daemonsets","namespaced":true};

/** Keeps a number of equal pods running and rolls out changes of their template. */
export interface Deployment extends types.Deployment {}
/** Keeps a number of equal pods running and rolls out changes of their template. */
export const Deployment: Kind<Deployment> = {"group":"apps","version":"v1","kind":"Deployment","resource":"deployments","namespaced":true};

/** Keeps a number of equal pods running. Usually made by a Deployment. */
export interface ReplicaSet extends types.ReplicaSet {}
/** Keeps a number of equal pods running. Usually made by a Deployment. */
export const ReplicaSet: Kind<ReplicaSet> = {"group":"apps","version":"v1","kind":"ReplicaSet","resource":"replicasets","namespaced":true};

/** Runs pods that each have a name, and storage, of their own that last. */
export interface StatefulSet extends types.StatefulSet {}
/** Runs pods that each have a name, and storage, of their own that last. */
export const StatefulSet: Kind<StatefulSet> = {"group":"apps","version":"v1","kind":"StatefulSet","resource":"statefulsets","namespaced":true};
