// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { NamespacedMeta, QuantityText, StoredMeta, Time } from "../../../objects/object.ts";
import type { ListMeta } from "../meta/v1.ts";

/** Resource usage of a container. */
export interface ContainerMetrics {
  /** Name of the container in the pod. */
  name: string;
  /** CPU in cores, on average over the interval, and memory in bytes: the working set. */
  usage: Record<string, QuantityText>;
}

/** Resource usage of a node. */
export interface NodeMetrics {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: StoredMeta;
  /** End of the interval that the numbers are about. */
  timestamp: Time;
  /** Length of the interval. */
  window: string;
  /** CPU in cores, on average over the interval, and memory in bytes: the working set. */
  usage: Record<string, QuantityText>;
}

/** A list of NodeMetrics. */
export interface NodeMetricsList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  /** The items of the list. */
  items: NodeMetrics[];
}

/** Resource usage of the containers of a pod. */
export interface PodMetrics {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** End of the interval that the numbers are about. */
  timestamp: Time;
  /** Length of the interval. */
  window: string;
  /** Resource usage of each container. */
  containers: ContainerMetrics[];
}

/** A list of PodMetrics. */
export interface PodMetricsList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  /** The items of the list. */
  items: PodMetrics[];
}
