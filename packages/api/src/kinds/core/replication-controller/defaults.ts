import type { ReplicationController } from "../../../generated/core/v1.ts";
import { defaultPodTemplate } from "../pod/defaults.ts";

export function defaultReplicationController(controller: ReplicationController): void {
  controller.spec ??= {};
  const { spec } = controller;
  const labels = spec.template?.metadata?.labels;
  if (labels && Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
  if (labels && Object.keys(controller.metadata.labels ?? {}).length === 0) {
    controller.metadata.labels = { ...labels };
  }
  defaultPodTemplate(spec.template);
}
