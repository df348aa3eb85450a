/** Checks of each type of volume. Paths and texts are upstream's, which differ from type to type. */

import type { FieldErrors } from "../../../checks/field.ts";
import type { KeyToPath, PersistentVolumeSpec, Volume } from "../../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { checkBackSteps, checkFreePath, checkLocalPath, checkMode } from "./paths.ts";

type Check<S> = (errors: FieldErrors, path: string, source: S) => void;

/** Check for types that only require some fields. */
function needs<S extends object>(...fields: (keyof S & string)[]): Check<S> {
  return (errors, path, source) => {
    for (const field of fields) {
      const value: unknown = source[field];
      if (!value || (Array.isArray(value) && value.length === 0)) errors.required(`${path}.${field}`);
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

export const checkHostPath: Check<Volume["hostPath"] & object> = (errors, path, source) => {
  if (!source.path) {
    errors.required(`${path}.path`);
    return;
  }
  checkBackSteps(errors, `${path}.path`, source.path);
  const type = source.type ?? "";
  if (!hostPathTypes.includes(type)) errors.notSupported(`${path}.type`, type, hostPathTypes);
};

interface Disk {
  readonly partition?: number;
}

function checkPartition(errors: FieldErrors, path: string, { partition = 0 }: Disk): void {
  if (partition >= 0 && partition <= 255) return;
  errors.invalid(`${path}.partition`, partition, "must be between 0 and 255, inclusive");
}

export const checkGoogleDisk: Check<Volume["gcePersistentDisk"] & object> = (errors, path, source) => {
  needs<typeof source>("pdName")(errors, path, source);
  checkPartition(errors, path, source);
};

export const checkAmazonDisk: Check<Volume["awsElasticBlockStore"] & object> = (errors, path, source) => {
  needs<typeof source>("volumeID")(errors, path, source);
  checkPartition(errors, path, source);
};

export const checkNfs: Check<Volume["nfs"] & object> = (errors, path, source) => {
  needs<typeof source>("server", "path")(errors, path, source);
  if (!source.path?.startsWith("/"))
    errors.invalid(`${path}.path`, source.path ?? "", "must be an absolute path");
};

const initiatorForms: readonly [prefix: string, form: RegExp][] = [
  ["iqn", /^iqn\.\d{4}-\d{2}\.([^:]+)(:[^,;*&$|\s]+)$/],
  ["eui", /^eui.[0-9A-Fa-f]{16}$/],
  ["naa", /^naa.[0-9A-Fa-f]{32}$/],
];

function checkInitiator(errors: FieldErrors, path: string, name: string, short: boolean): void {
  const [, form] = initiatorForms.find(([prefix]) => name.startsWith(prefix)) ?? [];
  if (form === undefined) {
    errors.invalid(
      path,
      name,
      short ? "must be valid format" : "must be valid format starting with iqn, eui, or naa",
    );
  } else if (!form.test(name)) errors.invalid(path, name, "must be valid format");
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
export function checkIscsi(errors: FieldErrors, path: string, source: Iscsi, persistent?: string): void {
  const { targetPortal = "", iqn, lun = 0, initiatorName, secretRef } = source;
  const short = persistent !== undefined;
  if (targetPortal === "") errors.required(`${path}.targetPortal`);
  if (short && initiatorName !== undefined && `${persistent}:${targetPortal}`.length > maxTargetLength) {
    errors.invalid(`${path}.targetportal`, targetPortal, targetTooLong);
  }
  if (!iqn) errors.required(`${path}.iqn`);
  else checkInitiator(errors, `${path}.iqn`, iqn, short);
  if (lun < 0 || lun > 255) errors.invalid(`${path}.lun`, lun, "must be between 0 and 255, inclusive");
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !secretRef)
    errors.required(`${path}.secretRef`);
  if (short && secretRef && !secretRef.name) errors.required(`${path}.secretRef.name`);
  if (initiatorName !== undefined) checkInitiator(errors, `${path}.initiatorname`, initiatorName, short);
}

/** Checks the initiator name of an iSCSI volume in a pod, which includes the volume's name. */
export function checkIscsiName(errors: FieldErrors, path: string, name: string, source: Iscsi): void {
  if (source.initiatorName !== undefined && `${name}:${source.targetPortal}`.length > maxTargetLength) {
    errors.invalid(`${path}.name`, name, targetTooLong);
  }
}

export const checkFibre: Check<Volume["fc"] & object> = (
  errors,
  path,
  { targetWWNs = [], wwids = [], lun },
) => {
  if (targetWWNs.length === 0 && wwids.length === 0) {
    errors.required(`${path}.targetWWNs`, "must specify either targetWWNs or wwids, but not both");
  }
  if (targetWWNs.length === 0) return;
  if (wwids.length > 0) {
    const detail = "targetWWNs and wwids can not be specified simultaneously";
    errors.invalid(`${path}.targetWWNs`, targetWWNs, detail);
  }
  if (lun === undefined || lun === null)
    errors.required(`${path}.lun`, "lun is required if targetWWNs is specified");
  else if (lun < 0 || lun > 255) errors.invalid(`${path}.lun`, lun, "must be between 0 and 255, inclusive");
};

export const checkFlocker: Check<Volume["flocker"] & object> = (errors, path, source) => {
  const { datasetName = "", datasetUUID = "" } = source;
  if (datasetName === "" && datasetUUID === "")
    errors.required(path, "one of datasetName and datasetUUID is required");
  if (datasetName !== "" && datasetUUID !== "") {
    errors.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously");
  }
  if (datasetName.includes("/")) errors.invalid(`${path}.datasetName`, datasetName, "must not contain '/'");
};

export const checkQuobyte: Check<Volume["quobyte"] & object> = (errors, path, source) => {
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  const { registry, tenant = "", volume } = source;
  if (!registry) errors.required(`${path}.registry`, pairs);
  else if (tenant.length >= 65) {
    errors.required(`${path}.tenant`, "must be a UUID and may not exceed a length of 64 characters");
  } else {
    for (const pair of registry.split(",")) {
      if (!/^(\[[^\]]*\]|[^:[\]]*):[^:]*$/.test(pair)) errors.invalid(`${path}.registry`, registry, pairs);
    }
  }
  if (!volume) errors.required(`${path}.volume`);
};

export const checkFlex: Check<{
  readonly driver: string;
  readonly options?: Readonly<Record<string, string>>;
}> = (errors, path, source) => {
  needs<typeof source>("driver")(errors, path, source);
  for (const key of Object.keys(source.options ?? {})) {
    const domain = `.${key.split("/", 1)[0]?.toLowerCase() ?? ""}`;
    if (domain.endsWith(".kubernetes.io") || domain.endsWith(".k8s.io")) {
      const detail = "kubernetes.io and k8s.io namespaces are reserved";
      errors.invalid(`${path}.options[${key}]`, key, detail);
    }
  }
};

export const checkAzureDisk: Check<Volume["azureDisk"] & object> = (errors, path, source) => {
  needs<typeof source>("diskName", "diskURI")(errors, path, source);
  const { cachingMode, kind, diskURI = "" } = source;
  const modes = ["None", "ReadOnly", "ReadWrite"];
  if (cachingMode && !modes.includes(cachingMode))
    errors.notSupported(`${path}.cachingMode`, cachingMode, modes);
  const kinds = ["Dedicated", "Managed", "Shared"];
  if (kind && !kinds.includes(kind)) errors.notSupported(`${path}.kind`, kind, kinds);
  if (kind === "Managed" && !diskURI.startsWith("/subscriptions/")) {
    errors.notSupported(`${path}.diskURI`, diskURI, [
      "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
    ]);
  }
  if (kind && kind !== "Managed" && !diskURI.startsWith("https://")) {
    errors.notSupported(`${path}.diskURI`, diskURI, [
      "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
    ]);
  }
};

interface StorageOs {
  readonly volumeName?: string;
  readonly volumeNamespace?: string;
  readonly secretRef?: { readonly name?: string; readonly namespace?: string };
}

export function checkStorageOs(
  errors: FieldErrors,
  path: string,
  source: StorageOs,
  persistent = false,
): void {
  errors.checkRequired(dnsLabel, `${path}.volumeName`, source.volumeName);
  if (source.volumeNamespace) errors.check(dnsLabel, `${path}.volumeNamespace`, source.volumeNamespace);
  if (!source.secretRef) return;
  if (!source.secretRef.name) errors.required(`${path}.secretRef.name`);
  if (persistent && !source.secretRef.namespace) errors.required(`${path}.secretRef.namespace`);
}

export function checkCinder(
  errors: FieldErrors,
  path: string,
  source: {
    readonly volumeID: string;
    readonly secretRef?: { readonly name?: string; readonly namespace?: string };
  },
  persistent = false,
): void {
  if (!source.volumeID) errors.required(`${path}.volumeID`);
  if (!source.secretRef) return;
  if (!source.secretRef.name) errors.required(`${path}.secretRef.name`);
  if (persistent && !source.secretRef.namespace) errors.required(`${path}.secretRef.namespace`);
}

/** Name of a CSI driver: a DNS subdomain of at most 63 bytes, in any case. */
export function checkDriver(errors: FieldErrors, path: string, driver: string | undefined): void {
  if (!driver) {
    errors.required(path);
    return;
  }
  if (driver.length > 63) errors.tooLong(path, 63);
  for (const problem of dnsSubdomain(driver.toLowerCase())) errors.invalid(path, driver, problem);
}

export const checkCsi: Check<Volume["csi"] & object> = (errors, path, source) => {
  checkDriver(errors, `${path}.driver`, source.driver);
  const secret = source.nodePublishSecretRef;
  if (!secret) return;
  if (!secret.name) errors.required(`${path}.nodePublishSecretRef.name`);
  // Upstream's path leaves out the reference here.
  else errors.check(dnsSubdomain, `${path}.name`, secret.name);
};

export function checkItems(errors: FieldErrors, path: string, items: readonly KeyToPath[] | undefined): void {
  (items ?? []).forEach((item, index) => {
    const at = `${path}.items[${index}]`;
    if (!item.key) errors.required(`${at}.key`);
    if (!item.path) errors.required(`${at}.path`);
    checkFreePath(errors, `${at}.path`, item.path ?? "");
    checkMode(errors, `${at}.mode`, item.mode);
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

export const checkGit: Check<Volume["gitRepo"] & object> = (errors, path, source) => {
  needs<typeof source>("repository")(errors, path, source);
  checkLocalPath(errors, `${path}.directory`, source.directory ?? "");
};
