import { Quantity } from "@dray/api";
import type { PersistentVolumeClaim } from "@dray/api/core/v1";
import type { StorageClass } from "@dray/api/storage/v1";
import { forbidden } from "../errors/status.ts";
import { objectKey } from "../storage/keys.ts";
import type { AdmissionPlugin } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

/** Finalizers by `group/resource`; controllers remove them when the object is no longer in use. */
const finalizers: Readonly<Record<string, string | undefined>> = {
  "/persistentvolumeclaims": "kubernetes.io/pvc-protection",
  "/persistentvolumes": "kubernetes.io/pv-protection",
  "storage.k8s.io/volumeattributesclasses": "kubernetes.io/vac-protection",
};

/** Delays the deletion of volumes and claims in use, by finalizers (StorageObjectInUseProtection). */
export function storageObjectInUseProtection(): AdmissionPlugin {
  return {
    mutate({ operation, served, subresource, object }) {
      if (operation !== "CREATE" || subresource !== "" || object === undefined) return;
      const finalizer = finalizers[`${served.group}/${served.resource}`];
      if (finalizer === undefined || object.metadata.finalizers?.includes(finalizer)) return;
      object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer];
    },
  };
}

/** Rejects the expansion of a volume claim unless its class allows it. */
export function persistentVolumeClaimResize({ storage }: AdmissionContext): AdmissionPlugin {
  return {
    validate(request) {
      const { operation, served, subresource, name } = request;
      if (operation !== "UPDATE" || subresource !== "") return;
      if (served.group !== "" || served.resource !== "persistentvolumeclaims") return;
      const claim = request.object as PersistentVolumeClaim;
      const old = request.old as PersistentVolumeClaim;
      if (sizeOf(claim).compare(sizeOf(old)) <= 0) return;
      if (old.status?.phase !== "Bound")
        throw forbidden(served, name, "Only bound persistent volume claims can be expanded");
      const className = classOf(claim);
      const stored = storage.cache("storageclasses").get(objectKey("storageclasses", "", className));
      const expands = (stored?.object as StorageClass | undefined)?.allowVolumeExpansion === true;
      if (className !== "" && className === classOf(old) && expands) return;
      throw forbidden(
        served,
        name,
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
      );
    },
  };
}

function sizeOf({ spec }: PersistentVolumeClaim): Quantity {
  return Quantity.parse(spec?.resources?.requests?.["storage"] ?? "0");
}

function classOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec?.storageClassName ?? "";
}
