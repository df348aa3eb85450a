import type { ReplicaSet } from "../../../generated/apps/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultPodTemplate } from "../../core/pod/defaults.ts";
import { completed } from "../template-spec.ts";

export function defaultReplicaSet(object: Wire<ReplicaSet>): void {
  const spec = completed(object);
  spec.replicas ??= 1;
  defaultPodTemplate(spec.template);
}
