import type { PersistentVolume } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { column, columns, type Printer } from "../../../tables/column.ts";
import { classOf, modesText } from "../volume-columns.ts";

export const persistentVolumeColumns: Printer<PersistentVolume> = {
  columns: [
    ...columns("Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass"),
    ...columns("VolumeAttributesClass", "Reason", "Age"),
    column("VolumeMode", { wide: true }),
  ],
  cells({ metadata, spec, status }, now) {
    const claim = spec?.claimRef;
    return [
      metadata.name,
      spec?.capacity?.["storage"] ?? "0",
      modesText(spec?.accessModes),
      spec?.persistentVolumeReclaimPolicy ?? "",
      metadata.deletionTimestamp ? "Terminating" : (status?.phase ?? ""),
      claim ? `${claim.namespace ?? ""}/${claim.name ?? ""}` : "",
      classOf(metadata, spec?.storageClassName),
      spec?.volumeAttributesClassName ?? "<unset>",
      status?.reason ?? "",
      ageText(metadata.creationTimestamp, now),
      spec?.volumeMode ?? "<unset>",
    ];
  },
};
