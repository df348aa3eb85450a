import type { FieldErrors } from "../../../checks/field.ts";
import type { Container, Volume, VolumeDevice, VolumeMount } from "../../../generated/core/v1.ts";
import { checkLocalPath } from "./paths.ts";

function checkPropagation(errors: FieldErrors, mode: string, container: Container): void {
  const modes = ["Bidirectional", "HostToContainer", "None"];
  if (!modes.includes(mode)) errors.notSupported(mode, modes);
  if (mode === "Bidirectional" && !container.securityContext?.privileged) {
    errors.forbidden("Bidirectional mount propagation is available only to privileged containers");
  }
}

function checkRecursive(errors: FieldErrors, mount: VolumeMount): void {
  const mode = mount.recursiveReadOnly;
  if (mode === undefined || mode === null || mode === "Disabled") return;
  const modes = ["Disabled", "Enabled", "IfPossible"];
  if (!modes.includes(mode)) {
    errors.notSupported(mode, modes);
    return;
  }
  if (!mount.readOnly) errors.forbidden("may only be specified when readOnly is true");
  if (mount.mountPropagation && mount.mountPropagation !== "None") {
    errors.forbidden("may only be specified when mountPropagation is None or not specified");
  }
}

/** Volumes of a pod that are sound, by name. */
export type Volumes = ReadonlyMap<string, Volume>;

export function checkMounts(errors: FieldErrors, container: Container, volumes: Volumes): void {
  const paths = new Set<string>();
  const devices = container.volumeDevices ?? [];
  const deviceNames = new Set(devices.map((device) => device.name));
  const devicePaths = new Set(devices.map((device) => device.devicePath));
  (container.volumeMounts ?? []).forEach((mount, index) => {
    const here = errors.index(index);
    const { name = "", mountPath = "", subPath, subPathExpr } = mount;
    if (name === "") here.at("name").required();
    if (!volumes.has(name)) here.at("name").notFound(name);
    if (mountPath === "") here.at("mountPath").required();
    if (paths.has(mountPath)) here.at("mountPath").invalid(mountPath, "must be unique");
    paths.add(mountPath);
    if (deviceNames.has(name)) {
      here.at("name").invalid(name, "must not already exist in volumeDevices");
    }
    if (devicePaths.has(mountPath)) {
      here.at("mountPath").invalid(mountPath, "must not already exist as a path in volumeDevices");
    }
    // Upstream's paths have no index from here on.
    if (subPath) checkLocalPath(errors.at("subPath"), subPath);
    if (subPathExpr) {
      if (subPath) {
        here.at("subPathExpr").invalid(subPathExpr, "subPathExpr and subPath are mutually exclusive");
      }
      checkLocalPath(errors.at("subPathExpr"), subPathExpr);
    }
    if (mount.mountPropagation !== undefined && mount.mountPropagation !== null) {
      checkPropagation(errors.at("mountPropagation"), mount.mountPropagation, container);
    }
    checkRecursive(errors.at("recursiveReadOnly"), mount);
  });
}

function checkDevice(
  errors: FieldErrors,
  { name = "", devicePath = "" }: VolumeDevice,
  before: { readonly names: ReadonlySet<string>; readonly paths: ReadonlySet<string> },
  volumes: Volumes,
): void {
  const volume = volumes.get(name);
  if (name === "") errors.at("name").required();
  if (name !== "" && before.names.has(name)) errors.at("name").invalid(name, "must be unique");
  if (volume && !volume.persistentVolumeClaim && !volume.ephemeral) {
    const detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
    errors.at("name").invalid(name, detail);
  }
  if (!volume) errors.at("name").notFound(name);
  if (devicePath === "") errors.at("devicePath").required();
  if (before.paths.has(devicePath)) {
    errors.at("devicePath").invalid(devicePath, "must be unique");
  }
  if (devicePath.split("/").includes("..")) {
    errors.at("devicePath").invalid(devicePath, "can not contain backsteps ('..')");
  }
}

export function checkDevices(errors: FieldErrors, container: Container, volumes: Volumes): void {
  const mounts = container.volumeMounts ?? [];
  const mountNames = new Set(mounts.map(({ name }) => name));
  const mountPaths = new Set(mounts.map(({ mountPath }) => mountPath));
  const before = { names: new Set<string>(), paths: new Set<string>() };
  (container.volumeDevices ?? []).forEach((device, index) => {
    const here = errors.index(index);
    checkDevice(here, device, before, volumes);
    before.names.add(device.name ?? "");
    before.paths.add(device.devicePath ?? "");
    if (mountNames.has(device.name)) {
      here.at("name").invalid(device.name, "must not already exist in volumeMounts");
    }
    if (mountPaths.has(device.devicePath)) {
      here.at("devicePath").invalid(device.devicePath, "must not already exist as a path in volumeMounts");
    }
  });
}
