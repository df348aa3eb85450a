import type { PodSpec } from "../generated/core/v1.ts";
import type { KubeObject } from "../objects/object.ts";

/** The spec of a pod, and its path in the object. */
export interface PlacedPodSpec {
  readonly spec: PodSpec;
  readonly path: string;
}

/** Paths of pod templates, by kind. */
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

/** Returns the pod spec of an object or of its template, if any. */
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
