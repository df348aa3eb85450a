import type { KubeObject } from "@dray/api";
import type { PodTemplateSpec } from "@dray/api/core/v1";

/** An object without labels gets those of its template, whenever it is read (SetDefaults_Job). */
export function labelAsTemplate(object: KubeObject, template: PodTemplateSpec | undefined): void {
  const labels = template?.metadata?.labels;
  if (labels && Object.keys(object.metadata.labels ?? {}).length === 0)
    object.metadata.labels = { ...labels };
}
