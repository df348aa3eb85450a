import type { Deployment } from "../../../generated/apps/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultPodTemplate } from "../../core/pod/defaults.ts";
import { completed } from "../template-spec.ts";

export function defaultDeployment(object: Wire<Deployment>): void {
  const spec = completed(object);
  spec.replicas ??= 1;
  spec.strategy ??= {};
  spec.strategy.type ||= "RollingUpdate";
  if (spec.strategy.type === "RollingUpdate") {
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxUnavailable ??= "25%";
    spec.strategy.rollingUpdate.maxSurge ??= "25%";
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  defaultPodTemplate(spec.template);
}
