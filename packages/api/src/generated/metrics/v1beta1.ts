// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind, NamespacedMeta, QuantityText, StoredMeta, Time } from "../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

export interface ContainerMetrics {
  name: string;
  usage: Record<string, QuantityText>;
}

export interface NodeMetrics {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  timestamp: Time;
  window: string;
  usage: Record<string, QuantityText>;
}

export const NodeMetrics: Kind<NodeMetrics> = {"group":"metrics.k8s.io","version":"v1beta1","kind":"NodeMetrics","resource":"nodes","namespaced":false};

export interface NodeMetricsList {
  metadata?: ListMeta;
  items: NodeMetrics[];
}

export interface PodMetrics {
  apiVersion: string;
  kind: string;
  metadata: NamespacedMeta;
  timestamp: Time;
  window: string;
  containers: ContainerMetrics[];
}

export const PodMetrics: Kind<PodMetrics> = {"group":"metrics.k8s.io","version":"v1beta1","kind":"PodMetrics","resource":"pods","namespaced":true};

export interface PodMetricsList {
  metadata?: ListMeta;
  items: PodMetrics[];
}
