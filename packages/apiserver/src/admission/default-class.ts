import type { KubeObject } from "@dray/api";
import type { PersistentVolumeClaim } from "@dray/api/core/v1";
import type { Ingress } from "@dray/api/networking/v1";
import type { Storage } from "../storage/storage.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

/** Returns the newest class that is marked as default; among equally new ones the first by name. */
function defaultClass(storage: Storage, resource: string, marks: readonly string[]): string | undefined {
  const cache = storage.cache(resource);
  let chosen: KubeObject | undefined;
  for (const { object } of cache.range(cache.prefix)) {
    if (!marks.some((mark) => object.metadata.annotations?.[mark] === "true")) continue;
    if (chosen === undefined || object.metadata.creationTimestamp > chosen.metadata.creationTimestamp)
      chosen = object;
  }
  return chosen?.metadata.name;
}

function creates(
  { operation, served, subresource }: AdmissionRequest,
  group: string,
  resource: string,
): boolean {
  return (
    operation === "CREATE" && subresource === "" && served.group === group && served.resource === resource
  );
}

const storageMarks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** Sets the default storage class of volume claims without a class. */
export function defaultStorageClass({ storage }: AdmissionContext): AdmissionPlugin {
  return {
    mutate(request) {
      if (!creates(request, "", "persistentvolumeclaims")) return;
      const { metadata, spec } = request.object as PersistentVolumeClaim;
      const old = metadata.annotations?.["volume.beta.kubernetes.io/storage-class"];
      // An empty name requests a volume without a class.
      if (!spec || spec.storageClassName !== undefined || old !== undefined) return;
      const name = defaultClass(storage, "storageclasses", storageMarks);
      if (name !== undefined) spec.storageClassName = name;
    },
  };
}

/** Sets the default class of ingresses without a class. */
export function defaultIngressClass({ storage }: AdmissionContext): AdmissionPlugin {
  return {
    mutate(request) {
      if (!creates(request, "networking.k8s.io", "ingresses")) return;
      const ingress = request.object as Ingress;
      if (ingress.spec?.ingressClassName !== undefined) return;
      if (ingress.metadata.annotations?.["kubernetes.io/ingress.class"] !== undefined) return;
      const name = defaultClass(storage, "ingressclasses", ["ingressclass.kubernetes.io/is-default-class"]);
      if (name !== undefined) ingress.spec = { ...ingress.spec, ingressClassName: name };
    },
  };
}
