/** Checks of each type of volume. Paths and texts are upstream's, which differ from type to type. */

import type { FieldErrors } from "../../../checks/field.ts";
import type { KeyToPath, PersistentVolumeSpec, Volume } from "../../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { checkBackSteps, checkFreePath, checkLocalPath, checkMode } from "./paths.ts";

type Check<S> = (errors: FieldErrors, source: S) => void;

/** Check for types that only require some fields. */
function needs<S extends object>(...fields: (keyof S & string)[]): Check<S> {
  return (errors, source) => {
    for (const field of fields) {
      const value: unknown = source[field];
      if (!value || (Array.isArray(value) && value.length === 0)) errors.at(field).required();
    }
  };
}

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

export const checkHostPath: Check<Volume["hostPath"] & object> = (errors, source) => {
  if (!source.path) {
    errors.at("path").required();
    return;
  }
  checkBackSteps(errors.at("path"), source.path);
  const type = source.type ?? "";
  if (!hostPathTypes.includes(type)) errors.at("type").notSupported(type, hostPathTypes);
};

interface Disk {
  readonly partition?: number;
}

function checkPartition(errors: FieldErrors, { partition = 0 }: Disk): void {
  if (partition >= 0 && partition <= 255) return;
  errors.at("partition").invalid(partition, "must be between 0 and 255, inclusive");
}

export const checkGoogleDisk: Check<Volume["gcePersistentDisk"] & object> = (errors, source) => {
  needs<typeof source>("pdName")(errors, source);
  checkPartition(errors, source);
};

export const checkAmazonDisk: Check<Volume["awsElasticBlockStore"] & object> = (errors, source) => {
  needs<typeof source>("volumeID")(errors, source);
  checkPartition(errors, source);
};

export const checkNfs: Check<Volume["nfs"] & object> = (errors, source) => {
  needs<typeof source>("server", "path")(errors, source);
  if (!source.path?.startsWith("/")) errors.at("path").invalid(source.path ?? "", "must be an absolute path");
};

const initiatorForms: readonly [prefix: string, form: RegExp][] = [
  ["iqn", /^iqn\.\d{4}-\d{2}\.([^:]+)(:[^,;*&$|\s]+)$/],
  ["eui", /^eui.[0-9A-Fa-f]{16}$/],
  ["naa", /^naa.[0-9A-Fa-f]{32}$/],
];

function checkInitiator(errors: FieldErrors, name: string, short: boolean): void {
  const [, form] = initiatorForms.find(([prefix]) => name.startsWith(prefix)) ?? [];
  if (form === undefined) {
    errors.invalid(
      name,
      short ? "must be valid format" : "must be valid format starting with iqn, eui, or naa",
    );
  } else if (!form.test(name)) errors.invalid(name, "must be valid format");
}

const maxTargetLength = 64;
const targetTooLong =
  "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

interface Iscsi {
  readonly targetPortal: string;
  readonly iqn: string;
  readonly lun: number;
  readonly chapAuthDiscovery?: boolean;
  readonly chapAuthSession?: boolean;
  readonly initiatorName?: string;
  readonly secretRef?: { readonly name?: string };
}

/** `persistent`: of a PersistentVolume with that name. */
export function checkIscsi(errors: FieldErrors, source: Iscsi, persistent?: string): void {
  const { targetPortal = "", iqn, lun = 0, initiatorName, secretRef } = source;
  const short = persistent !== undefined;
  if (targetPortal === "") errors.at("targetPortal").required();
  if (short && initiatorName !== undefined && `${persistent}:${targetPortal}`.length > maxTargetLength) {
    errors.at("targetportal").invalid(targetPortal, targetTooLong);
  }
  if (!iqn) errors.at("iqn").required();
  else checkInitiator(errors.at("iqn"), iqn, short);
  if (lun < 0 || lun > 255) errors.at("lun").invalid(lun, "must be between 0 and 255, inclusive");
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !secretRef) errors.at("secretRef").required();
  if (short && secretRef && !secretRef.name) errors.at("secretRef.name").required();
  if (initiatorName !== undefined) checkInitiator(errors.at("initiatorname"), initiatorName, short);
}

/** Checks the initiator name of an iSCSI volume in a pod, which includes the volume's name. */
export function checkIscsiName(errors: FieldErrors, name: string, source: Iscsi): void {
  if (source.initiatorName !== undefined && `${name}:${source.targetPortal}`.length > maxTargetLength) {
    errors.at("name").invalid(name, targetTooLong);
  }
}

export const checkFibre: Check<Volume["fc"] & object> = (errors, { targetWWNs = [], wwids = [], lun }) => {
  if (targetWWNs.length === 0 && wwids.length === 0) {
    errors.at("targetWWNs").required("must specify either targetWWNs or wwids, but not both");
  }
  if (targetWWNs.length === 0) return;
  if (wwids.length > 0) {
    const detail = "targetWWNs and wwids can not be specified simultaneously";
    errors.at("targetWWNs").invalid(targetWWNs, detail);
  }
  if (lun === undefined || lun === null)
    errors.at("lun").required("lun is required if targetWWNs is specified");
  else if (lun < 0 || lun > 255) errors.at("lun").invalid(lun, "must be between 0 and 255, inclusive");
};

export const checkFlocker: Check<Volume["flocker"] & object> = (errors, source) => {
  const { datasetName = "", datasetUUID = "" } = source;
  if (datasetName === "" && datasetUUID === "")
    errors.required("one of datasetName and datasetUUID is required");
  if (datasetName !== "" && datasetUUID !== "") {
    errors.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously");
  }
  if (datasetName.includes("/")) errors.at("datasetName").invalid(datasetName, "must not contain '/'");
};

export const checkQuobyte: Check<Volume["quobyte"] & object> = (errors, source) => {
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  const { registry, tenant = "", volume } = source;
  if (!registry) errors.at("registry").required(pairs);
  else if (tenant.length >= 65) {
    errors.at("tenant").required("must be a UUID and may not exceed a length of 64 characters");
  } else {
    for (const pair of registry.split(",")) {
      if (!/^(\[[^\]]*\]|[^:[\]]*):[^:]*$/.test(pair)) errors.at("registry").invalid(registry, pairs);
    }
  }
  if (!volume) errors.at("volume").required();
};

export const checkFlex: Check<{
  readonly driver: string;
  readonly options?: Readonly<Record<string, string>>;
}> = (errors, source) => {
  needs<typeof source>("driver")(errors, source);
  for (const key of Object.keys(source.options ?? {})) {
    const domain = `.${key.split("/", 1)[0]?.toLowerCase() ?? ""}`;
    if (domain.endsWith(".kubernetes.io") || domain.endsWith(".k8s.io")) {
      const detail = "kubernetes.io and k8s.io namespaces are reserved";
      errors.at("options").key(key).invalid(key, detail);
    }
  }
};

export const checkAzureDisk: Check<Volume["azureDisk"] & object> = (errors, source) => {
  needs<typeof source>("diskName", "diskURI")(errors, source);
  const { cachingMode, kind, diskURI = "" } = source;
  const modes = ["None", "ReadOnly", "ReadWrite"];
  if (cachingMode && !modes.includes(cachingMode)) errors.at("cachingMode").notSupported(cachingMode, modes);
  const kinds = ["Dedicated", "Managed", "Shared"];
  if (kind && !kinds.includes(kind)) errors.at("kind").notSupported(kind, kinds);
  if (kind === "Managed" && !diskURI.startsWith("/subscriptions/")) {
    errors
      .at("diskURI")
      .notSupported(diskURI, [
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
      ]);
  }
  if (kind && kind !== "Managed" && !diskURI.startsWith("https://")) {
    errors
      .at("diskURI")
      .notSupported(diskURI, [
        "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
      ]);
  }
};

interface StorageOs {
  readonly volumeName?: string;
  readonly volumeNamespace?: string;
  readonly secretRef?: { readonly name?: string; readonly namespace?: string };
}

export function checkStorageOs(errors: FieldErrors, source: StorageOs, persistent = false): void {
  errors.at("volumeName").checkRequired(dnsLabel, source.volumeName);
  if (source.volumeNamespace) errors.at("volumeNamespace").check(dnsLabel, source.volumeNamespace);
  if (!source.secretRef) return;
  if (!source.secretRef.name) errors.at("secretRef.name").required();
  if (persistent && !source.secretRef.namespace) errors.at("secretRef.namespace").required();
}

export function checkCinder(
  errors: FieldErrors,
  source: {
    readonly volumeID: string;
    readonly secretRef?: { readonly name?: string; readonly namespace?: string };
  },
  persistent = false,
): void {
  if (!source.volumeID) errors.at("volumeID").required();
  if (!source.secretRef) return;
  if (!source.secretRef.name) errors.at("secretRef.name").required();
  if (persistent && !source.secretRef.namespace) errors.at("secretRef.namespace").required();
}

/** Name of a CSI driver: a DNS subdomain of at most 63 bytes, in any case. */
export function checkDriver(errors: FieldErrors, driver: string | undefined): void {
  if (!driver) {
    errors.required();
    return;
  }
  if (driver.length > 63) errors.tooLong(63);
  for (const problem of dnsSubdomain(driver.toLowerCase())) errors.invalid(driver, problem);
}

export const checkCsi: Check<Volume["csi"] & object> = (errors, source) => {
  checkDriver(errors.at("driver"), source.driver);
  const secret = source.nodePublishSecretRef;
  if (!secret) return;
  if (!secret.name) errors.at("nodePublishSecretRef.name").required();
  // Upstream's path leaves out the reference here.
  else errors.at("name").check(dnsSubdomain, secret.name);
};

export function checkItems(errors: FieldErrors, items: readonly KeyToPath[] | undefined): void {
  (items ?? []).forEach((item, index) => {
    const here = errors.at("items").index(index);
    if (!item.key) here.at("key").required();
    if (!item.path) here.at("path").required();
    checkFreePath(here.at("path"), item.path ?? "");
    checkMode(here.at("mode"), item.mode);
  });
}

/** Types that pods and PersistentVolumes have in common, with no more rules than these. */
export const simpleSources = {
  portworxVolume: needs<PersistentVolumeSpec["portworxVolume"] & object>("volumeID"),
  photonPersistentDisk: needs<PersistentVolumeSpec["photonPersistentDisk"] & object>("pdID"),
  vsphereVolume: needs<PersistentVolumeSpec["vsphereVolume"] & object>("volumePath"),
} as const;

export const checkCeph = needs<{ readonly monitors: readonly string[] }>("monitors");
export const checkRbd = needs<{ readonly monitors: readonly string[]; readonly image: string }>(
  "monitors",
  "image",
);
export const checkGluster = needs<{ readonly endpoints: string; readonly path: string }>("endpoints", "path");
export const checkScaleIo = needs<{
  readonly gateway: string;
  readonly system: string;
  readonly volumeName?: string;
}>("gateway", "system", "volumeName");
export const checkAzureFile = needs<{ readonly secretName: string; readonly shareName: string }>(
  "secretName",
  "shareName",
);

export const checkGit: Check<Volume["gitRepo"] & object> = (errors, source) => {
  needs<typeof source>("repository")(errors, source);
  checkLocalPath(errors.at("directory"), source.directory ?? "");
};
