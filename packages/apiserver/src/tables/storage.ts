import type { PersistentVolume, PersistentVolumeClaim } from "@dray/api/core/v1";
import type { CSIDriver, VolumeAttachment, VolumeAttributesClass } from "@dray/api/storage/v1";
import { ageText } from "./age.ts";
import { column, columns, none, type Printer } from "./column.ts";

const modeNames = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

const modesText = (modes: readonly string[] | undefined): string =>
  Object.entries(modeNames)
    .filter(([mode]) => (modes ?? []).includes(mode))
    .map(([, short]) => short)
    .join(",");

/** The class of old times comes first. */
const classOf = (
  { annotations }: { readonly annotations?: Readonly<Record<string, string>> },
  name: string | undefined,
): string => annotations?.["volume.beta.kubernetes.io/storage-class"] ?? name ?? "";

export const volumes: Printer<PersistentVolume> = {
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

export const claims: Printer<PersistentVolumeClaim> = {
  columns: [
    ...columns("Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass"),
    ...columns("VolumeAttributesClass", "Age"),
    column("VolumeMode", { wide: true }),
  ],
  cells({ metadata, spec, status }, now) {
    const bound = Boolean(spec?.volumeName);
    return [
      metadata.name,
      metadata.deletionTimestamp ? "Terminating" : (status?.phase ?? ""),
      spec?.volumeName ?? "",
      bound ? (status?.capacity?.["storage"] ?? "0") : "",
      bound ? modesText(status?.accessModes) : "",
      classOf(metadata, spec?.storageClassName),
      spec?.volumeAttributesClassName ?? "<unset>",
      ageText(metadata.creationTimestamp, now),
      spec?.volumeMode ?? "<unset>",
    ];
  },
};

const flag = (name: string) => column(name, { type: "boolean" });

export const csiDrivers: Printer<CSIDriver> = {
  columns: [
    column("Name"),
    ...["AttachRequired", "PodInfoOnMount", "StorageCapacity"].map(flag),
    column("TokenRequests"),
    flag("RequiresRepublish"),
    ...columns("Modes", "Age"),
  ],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.attachRequired ?? true,
    spec?.podInfoOnMount ?? false,
    spec?.storageCapacity ?? false,
    spec?.tokenRequests?.map(({ audience }) => audience).join(",") ?? "<unset>",
    spec?.requiresRepublish ?? false,
    (spec?.volumeLifecycleModes ?? []).join(",") || none,
    ageText(metadata.creationTimestamp, now),
  ],
};

export const attachments: Printer<VolumeAttachment> = {
  columns: [
    column("Name"),
    { ...column("Attacher"), format: "name" },
    ...columns("PV", "Node"),
    flag("Attached"),
    column("Age"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.attacher ?? "",
    spec?.source?.persistentVolumeName ?? "",
    spec?.nodeName ?? "",
    status?.attached ?? false,
    ageText(metadata.creationTimestamp, now),
  ],
};

export const attributesClasses: Printer<VolumeAttributesClass> = {
  columns: columns("Name", "DriverName", "Age"),
  cells: ({ metadata, driverName }, now) => [
    metadata.name,
    driverName ?? "",
    ageText(metadata.creationTimestamp, now),
  ],
};
