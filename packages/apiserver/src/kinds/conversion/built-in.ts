import { apiVersionOf, type KubeObject } from "@dray/api";
import { fromOldAutoscaler, toOldAutoscaler } from "./autoscaling-v1.ts";
import { eventToCore, eventToEvents } from "./event.ts";
import { flatten, unflatten } from "./resource-v1beta1.ts";

interface Version {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Most versions that we serve differ only in their name; the others have a file here. */
export function convertBuiltIn(object: KubeObject, from: Version, to: Version): KubeObject {
  if (from.group === to.group && from.version === to.version) return object;
  const renamed: KubeObject = { ...object, apiVersion: apiVersionOf(to), kind: to.kind };
  if (to.kind === "Event") return to.group === "" ? eventToCore(renamed) : eventToEvents(renamed);
  if (to.group === "resource.k8s.io") {
    if (from.version === "v1beta1") return unflatten(renamed);
    if (to.version === "v1beta1") return flatten(renamed);
  }
  if (to.kind === "HorizontalPodAutoscaler")
    return to.version === "v1" ? toOldAutoscaler(renamed) : fromOldAutoscaler(renamed);
  return renamed;
}
