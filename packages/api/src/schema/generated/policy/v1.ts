// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, IntOrString, NamespacedMeta, Time } from "../../../objects/object.ts";
import type { Condition, DeleteOptions, LabelSelector, ListMeta } from "../meta/v1.ts";

export interface Eviction {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  deleteOptions?: DeleteOptions;
}

/** How many pods of a group may be evicted at once. */
export interface PodDisruptionBudget {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Selected pods, and how many of them must stay. */
  spec: PodDisruptionBudgetSpec;
  /** How many may go now. */
  status?: PodDisruptionBudgetStatus;
}

export interface PodDisruptionBudgetList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: PodDisruptionBudget[];
}

/** Selected pods, and how many of them must stay: a number or a percentage. */
export interface PodDisruptionBudgetSpec {
  /** How many pods must stay. Excludes maxUnavailable. */
  minAvailable?: IntOrString;
  /** Selects the pods. Empty: all of the namespace. */
  selector?: LabelSelector;
  /** How many pods may be missing. */
  maxUnavailable?: IntOrString;
  /** IfHealthyBudget (default) or AlwaysAllow: when running pods that are not ready may be evicted. */
  unhealthyPodEvictionPolicy?: string;
}

/** How many pods may go now. */
export interface PodDisruptionBudgetStatus {
  /** metadata.generation that this status is about. */
  observedGeneration?: Int64;
  /** Pods whose eviction was allowed, and when. */
  disruptedPods?: Record<string, Time>;
  /** How many pods may be evicted now. */
  disruptionsAllowed?: number;
  /** Pods that are healthy. */
  currentHealthy?: number;
  /** How many must be healthy. */
  desiredHealthy?: number;
  /** How many pods there are. */
  expectedPods?: number;
  /** DisruptionAllowed. */
  conditions?: Condition[];
}
