import type { FieldErrors } from "../../../checks/field.ts";
import type { Container, Volume, VolumeDevice, VolumeMount } from "../../../generated/core/v1.ts";
import { checkLocalPath } from "./paths.ts";

function checkPropagation(errors: FieldErrors, path: string, mode: string, container: Container): void {
  const modes = ["Bidirectional", "HostToContainer", "None"];
  if (!modes.includes(mode)) errors.notSupported(path, mode, modes);
  if (mode === "Bidirectional" && !container.securityContext?.privileged) {
    errors.forbidden(path, "Bidirectional mount propagation is available only to privileged containers");
  }
}

function checkRecursive(errors: FieldErrors, path: string, mount: VolumeMount): void {
  const mode = mount.recursiveReadOnly;
  if (mode === undefined || mode === null || mode === "Disabled") return;
  const modes = ["Disabled", "Enabled", "IfPossible"];
  if (!modes.includes(mode)) {
    errors.notSupported(path, mode, modes);
    return;
  }
  if (!mount.readOnly) errors.forbidden(path, "may only be specified when readOnly is true");
  if (mount.mountPropagation && mount.mountPropagation !== "None") {
    errors.forbidden(path, "may only be specified when mountPropagation is None or not specified");
  }
}

/** Volumes of a pod that are sound, by name. */
export type Volumes = ReadonlyMap<string, Volume>;

export function checkMounts(errors: FieldErrors, path: string, container: Container, volumes: Volumes): void {
  const paths = new Set<string>();
  const devices = container.volumeDevices ?? [];
  const deviceNames = new Set(devices.map((device) => device.name));
  const devicePaths = new Set(devices.map((device) => device.devicePath));
  (container.volumeMounts ?? []).forEach((mount, index) => {
    const at = `${path}[${index}]`;
    const { name = "", mountPath = "", subPath, subPathExpr } = mount;
    if (name === "") errors.required(`${at}.name`);
    if (!volumes.has(name)) errors.notFound(`${at}.name`, name);
    if (mountPath === "") errors.required(`${at}.mountPath`);
    if (paths.has(mountPath)) errors.invalid(`${at}.mountPath`, mountPath, "must be unique");
    paths.add(mountPath);
    if (deviceNames.has(name)) {
      errors.invalid(`${at}.name`, name, "must not already exist in volumeDevices");
    }
    if (devicePaths.has(mountPath)) {
      errors.invalid(`${at}.mountPath`, mountPath, "must not already exist as a path in volumeDevices");
    }
    // Upstream's paths have no index from here on.
    if (subPath) checkLocalPath(errors, `${path}.subPath`, subPath);
    if (subPathExpr) {
      if (subPath) {
        errors.invalid(`${at}.subPathExpr`, subPathExpr, "subPathExpr and subPath are mutually exclusive");
      }
      checkLocalPath(errors, `${path}.subPathExpr`, subPathExpr);
    }
    if (mount.mountPropagation !== undefined && mount.mountPropagation !== null) {
      checkPropagation(errors, `${path}.mountPropagation`, mount.mountPropagation, container);
    }
    checkRecursive(errors, `${path}.recursiveReadOnly`, mount);
  });
}

function checkDevice(
  errors: FieldErrors,
  at: string,
  { name = "", devicePath = "" }: VolumeDevice,
  before: { readonly names: ReadonlySet<string>; readonly paths: ReadonlySet<string> },
  volumes: Volumes,
): void {
  const volume = volumes.get(name);
  if (name === "") errors.required(`${at}.name`);
  if (name !== "" && before.names.has(name)) errors.invalid(`${at}.name`, name, "must be unique");
  if (volume && !volume.persistentVolumeClaim && !volume.ephemeral) {
    const detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
    errors.invalid(`${at}.name`, name, detail);
  }
  if (!volume) errors.notFound(`${at}.name`, name);
  if (devicePath === "") errors.required(`${at}.devicePath`);
  if (before.paths.has(devicePath)) {
    errors.invalid(`${at}.devicePath`, devicePath, "must be unique");
  }
  if (devicePath.split("/").includes("..")) {
    errors.invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')");
  }
}

export function checkDevices(
  errors: FieldErrors,
  path: string,
  container: Container,
  volumes: Volumes,
): void {
  const mounts = container.volumeMounts ?? [];
  const mountNames = new Set(mounts.map(({ name }) => name));
  const mountPaths = new Set(mounts.map(({ mountPath }) => mountPath));
  const before = { names: new Set<string>(), paths: new Set<string>() };
  (container.volumeDevices ?? []).forEach((device, index) => {
    const at = `${path}[${index}]`;
    checkDevice(errors, at, device, before, volumes);
    before.names.add(device.name ?? "");
    before.paths.add(device.devicePath ?? "");
    if (mountNames.has(device.name)) {
      errors.invalid(`${at}.name`, device.name, "must not already exist in volumeMounts");
    }
    if (mountPaths.has(device.devicePath)) {
      errors.invalid(
        `${at}.devicePath`,
        device.devicePath,
        "must not already exist as a path in volumeMounts",
      );
    }
  });
}
