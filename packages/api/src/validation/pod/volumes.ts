import type { Volume } from "../../generated/core/v1.ts";
import { dnsLabel } from "../../names.ts";
import type { FieldErrors } from "../field.ts";

const hostPathTypes = [
  "",
  "DirectoryOrCreate",
  "Directory",
  "FileOrCreate",
  "File",
  "Socket",
  "CharDevice",
  "BlockDevice",
];

interface KeyToPath {
  readonly key?: string;
  readonly path?: string;
}

function checkBackSteps(errors: FieldErrors, path: string, value: string): void {
  if (value.split("/").includes("..")) errors.invalid(path, value, "must not contain '..'");
}

function checkItems(errors: FieldErrors, path: string, items: readonly KeyToPath[] | undefined): void {
  (items ?? []).forEach((item, index) => {
    const at = `${path}.items[${index}]`;
    if (!item.key) errors.required(`${at}.key`);
    if (!item.path) errors.required(`${at}.path`);
    else if (item.path.startsWith("/")) errors.invalid(`${at}.path`, item.path, "must be a relative path");
    else checkBackSteps(errors, `${at}.path`, item.path);
  });
}

function checkMode(errors: FieldErrors, path: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) {
    errors.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
  }
}

function checkSource(errors: FieldErrors, path: string, volume: Volume): void {
  const { hostPath, secret, configMap, persistentVolumeClaim, downwardAPI, projected, csi } = volume;
  if (hostPath) {
    if (!hostPath.path) errors.required(`${path}.hostPath.path`);
    else checkBackSteps(errors, `${path}.hostPath.path`, hostPath.path);
    const type = hostPath.type ?? "";
    if (!hostPathTypes.includes(type)) errors.notSupported(`${path}.hostPath.type`, type, hostPathTypes);
  }
  if (secret) {
    if (!secret.secretName) errors.required(`${path}.secret.secretName`);
    checkMode(errors, `${path}.secret.defaultMode`, secret.defaultMode);
    checkItems(errors, `${path}.secret`, secret.items);
  }
  if (configMap) {
    if (!configMap.name) errors.required(`${path}.configMap.name`);
    checkMode(errors, `${path}.configMap.defaultMode`, configMap.defaultMode);
    checkItems(errors, `${path}.configMap`, configMap.items);
  }
  if (persistentVolumeClaim && !persistentVolumeClaim.claimName) {
    errors.required(`${path}.persistentVolumeClaim.claimName`);
  }
  if (downwardAPI) checkMode(errors, `${path}.downwardAPI.defaultMode`, downwardAPI.defaultMode);
  if (projected) checkMode(errors, `${path}.projected.defaultMode`, projected.defaultMode);
  if (csi && !csi.driver) errors.required(`${path}.csi.driver`);
}

/** Volumes of a pod: each named once, each of one type. */
export function checkVolumes(
  errors: FieldErrors,
  path: string,
  volumes: readonly Volume[] | undefined,
): void {
  const seen = new Set<string>();
  (volumes ?? []).forEach((volume, index) => {
    const at = `${path}[${index}]`;
    const types = Object.entries(volume)
      .filter(([name, source]) => name !== "name" && source !== undefined && source !== null)
      .map(([name]) => name);
    // Two types in the order of the schema: the first is taken, the others are not.
    for (const type of types.slice(1)) {
      errors.forbidden(`${at}.${type}`, "may not specify more than 1 volume type");
    }
    if (types.length === 0) errors.required(at, "must specify a volume type");
    if (types.length === 1) checkSource(errors, at, volume);
    if (!volume.name) errors.required(`${at}.name`);
    else errors.check(dnsLabel, `${at}.name`, volume.name);
    if (volume.name && seen.has(volume.name)) errors.duplicate(`${at}.name`, volume.name);
    seen.add(volume.name ?? "");
  });
}
