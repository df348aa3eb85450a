import { minorOf } from "@dray/api";
import type { Binding, Pod } from "@dray/api/core/v1";
import { objectKey } from "../storage/keys.ts";
import type { AdmissionPlugin } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

const keys = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/** Copies the zone and region labels of the node to a pod that is bound to it (KEP-4742, on since 1.35). */
export function podTopologyLabels({ storage, features }: AdmissionContext): AdmissionPlugin {
  return {
    mutate({ served, operation, subresource, object, kind }) {
      if (minorOf(features.version) < 35) return;
      if (served.group !== "" || served.resource !== "pods" || operation !== "CREATE" || !object) return;
      let node: string | undefined;
      if (subresource === "") node = (object as Pod).spec?.nodeName;
      else if (subresource === "binding" && kind?.kind === "Binding") {
        const { target } = object as Binding;
        if (target.kind === "Node") node = target.name;
      }
      const labels = node && storage.cache("nodes").get(objectKey("nodes", "", node))?.object.metadata.labels;
      if (!labels) return;
      for (const key of keys) {
        const value = labels[key];
        if (value !== undefined) object.metadata.labels = { ...object.metadata.labels, [key]: value };
      }
    },
  };
}
