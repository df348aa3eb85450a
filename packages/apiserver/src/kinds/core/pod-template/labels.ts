import type { KubeObject } from "@dray/api";
import type { PodTemplateSpec } from "@dray/api/core/v1";

/** Copies the labels of the template to an object without labels, on each read (SetDefaults_Job). */
export function labelAsTemplate(object: KubeObject, template: PodTemplateSpec | undefined): void {
  const labels = template?.metadata?.labels;
  if (labels && Object.keys(object.metadata.labels ?? {}).length === 0)
    object.metadata.labels = { ...labels };
}
