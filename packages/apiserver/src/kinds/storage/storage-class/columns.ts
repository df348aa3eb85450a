import type { StorageClass } from "@dray/api/storage/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

const defaultClass = "storageclass.kubernetes.io/is-default-class";

export const storageClassColumns: Printer<StorageClass> = {
  columns: columns(
    "Name",
    "Provisioner",
    "ReclaimPolicy",
    "VolumeBindingMode",
    "AllowVolumeExpansion",
    "Age",
  ),
  cells: ({ metadata, provisioner, reclaimPolicy, volumeBindingMode, allowVolumeExpansion }, now) => [
    metadata.annotations?.[defaultClass] === "true" ? `${metadata.name} (default)` : metadata.name,
    provisioner ?? "",
    reclaimPolicy ?? "Delete",
    volumeBindingMode ?? "<unset>",
    allowVolumeExpansion ?? false,
    ageText(metadata.creationTimestamp, now),
  ],
};
