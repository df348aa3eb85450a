// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, NamespacedMeta, QuantityText, Time } from "../../../objects/object.ts";
import type { LabelSelector, ListMeta } from "../meta/v1.ts";

export interface ContainerResourceMetricSource {
  name: string;
  targetAverageUtilization?: number;
  targetAverageValue?: QuantityText;
  container: string;
}

export interface ContainerResourceMetricStatus {
  name: string;
  currentAverageUtilization?: number;
  currentAverageValue: QuantityText;
  container: string;
}

export interface CrossVersionObjectReference {
  /** The kind of the object, in CamelCase. */
  kind: string;
  name: string;
  /** APIVersion defines the group and version of this representation of the object, such as apps/v1. */
  apiVersion?: string;
}

export interface ExternalMetricSource {
  metricName: string;
  metricSelector?: LabelSelector;
  targetValue?: QuantityText;
  targetAverageValue?: QuantityText;
}

export interface ExternalMetricStatus {
  metricName: string;
  metricSelector?: LabelSelector;
  currentValue: QuantityText;
  currentAverageValue?: QuantityText;
}

export interface HorizontalPodAutoscaler {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: HorizontalPodAutoscalerSpec;
  /** Last observed status. The system writes it. */
  status?: HorizontalPodAutoscalerStatus;
}

export interface HorizontalPodAutoscalerCondition {
  type: string;
  /** Last observed status. The system writes it. */
  status?: string;
  lastTransitionTime?: Time;
  reason?: string;
  message?: string;
  observedGeneration?: Int64;
}

export interface HorizontalPodAutoscalerList {
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata?: ListMeta;
  items: HorizontalPodAutoscaler[];
}

export interface HorizontalPodAutoscalerSpec {
  scaleTargetRef: CrossVersionObjectReference;
  minReplicas?: number;
  maxReplicas: number;
  targetCPUUtilizationPercentage?: number;
}

export interface HorizontalPodAutoscalerStatus {
  observedGeneration?: Int64;
  lastScaleTime?: Time;
  currentReplicas: number;
  desiredReplicas: number;
  currentCPUUtilizationPercentage?: number;
}

export interface MetricSpec {
  type: string;
  object?: ObjectMetricSource;
  pods?: PodsMetricSource;
  resource?: ResourceMetricSource;
  containerResource?: ContainerResourceMetricSource;
  external?: ExternalMetricSource;
}

export interface MetricStatus {
  type: string;
  object?: ObjectMetricStatus;
  pods?: PodsMetricStatus;
  resource?: ResourceMetricStatus;
  containerResource?: ContainerResourceMetricStatus;
  external?: ExternalMetricStatus;
}

export interface ObjectMetricSource {
  target: CrossVersionObjectReference;
  metricName: string;
  targetValue: QuantityText;
  selector?: LabelSelector;
  averageValue?: QuantityText;
}

export interface ObjectMetricStatus {
  target: CrossVersionObjectReference;
  metricName: string;
  currentValue: QuantityText;
  selector?: LabelSelector;
  averageValue?: QuantityText;
}

export interface PodsMetricSource {
  metricName: string;
  targetAverageValue: QuantityText;
  selector?: LabelSelector;
}

export interface PodsMetricStatus {
  metricName: string;
  currentAverageValue: QuantityText;
  selector?: LabelSelector;
}

export interface ResourceMetricSource {
  name: string;
  targetAverageUtilization?: number;
  targetAverageValue?: QuantityText;
}

export interface ResourceMetricStatus {
  name: string;
  currentAverageUtilization?: number;
  currentAverageValue: QuantityText;
}

export interface Scale {
  apiVersion: string;
  kind: string;
  /** Standard object's metadata: name, namespace, labels and what else all objects have. */
  metadata: NamespacedMeta;
  /** Desired state. */
  spec: ScaleSpec;
  /** Last observed status. The system writes it. */
  status?: ScaleStatus;
}

export interface ScaleSpec {
  replicas?: number;
}

export interface ScaleStatus {
  replicas: number;
  selector?: string;
}
