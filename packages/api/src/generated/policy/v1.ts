// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, IntOrString, Kind, NamespacedMeta, Time } from "../../objects/object.ts";
import type { Condition, DeleteOptions, LabelSelector, ListMeta } from "../meta/v1.ts";

export interface Eviction {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  deleteOptions?: DeleteOptions;
}

export const Eviction: Kind<Eviction> = {"group":"policy","version":"v1","kind":"Eviction","resource":"evictions","namespaced":true};

export interface PodDisruptionBudget {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  spec: PodDisruptionBudgetSpec;
  status?: PodDisruptionBudgetStatus;
}

export const PodDisruptionBudget: Kind<PodDisruptionBudget> = {"group":"policy","version":"v1","kind":"PodDisruptionBudget","resource":"poddisruptionbudgets","namespaced":true};

export interface PodDisruptionBudgetList {
  metadata?: ListMeta;
  items: PodDisruptionBudget[];
}

export interface PodDisruptionBudgetSpec {
  minAvailable?: IntOrString;
  selector?: LabelSelector;
  maxUnavailable?: IntOrString;
  unhealthyPodEvictionPolicy?: string;
}

export interface PodDisruptionBudgetStatus {
  observedGeneration?: Int64;
  disruptedPods?: Record<string, Time>;
  disruptionsAllowed?: number;
  currentHealthy?: number;
  desiredHealthy?: number;
  expectedPods?: number;
  conditions?: Condition[];
}
