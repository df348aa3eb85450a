import type { ReplicationController } from "../../../generated/core/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultPodTemplate } from "../pod/defaults.ts";

export function defaultReplicationController(controller: Wire<ReplicationController>): void {
  controller.spec ??= {};
  const { spec } = controller;
  const labels = spec.template?.metadata?.labels;
  if (labels && Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
  if (labels && Object.keys(controller.metadata?.labels ?? {}).length === 0) {
    controller.metadata ??= {};
    controller.metadata.labels = { ...labels };
  }
  defaultPodTemplate(spec.template);
}
