import type { KubeObject } from "@dray/api";
import type { PodSpec } from "@dray/api/core/v1";

/** A spec of pods, and where it stands in its object. */
export interface PlacedPodSpec {
  readonly spec: PodSpec;
  readonly path: string;
}

/** Where objects that make pods have their template. */
const templatePaths: Readonly<Record<string, string>> = {
  CronJob: "spec.jobTemplate.spec.template",
  DaemonSet: "spec.template",
  Deployment: "spec.template",
  Job: "spec.template",
  PodTemplate: "template",
  ReplicaSet: "spec.template",
  ReplicationController: "spec.template",
  StatefulSet: "spec.template",
};

/** The pods that an object is or makes: none or one spec. */
export function podSpecsOf(object: KubeObject): PlacedPodSpec[] {
  const at = object.kind === "Pod" ? "" : templatePaths[object.kind];
  if (at === undefined) return [];
  let value: unknown = object;
  for (const field of at === "" ? [] : at.split("."))
    value = (value as Record<string, unknown> | undefined)?.[field];
  const { spec } = (value ?? {}) as { readonly spec?: PodSpec };
  if (spec === undefined) return [];
  return [{ spec, path: at === "" ? "spec" : `${at}.spec` }];
}
