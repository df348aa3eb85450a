import type { ContainerEdits, Device, Spec } from "./spec.ts";

/** Released versions of the CDI specification, oldest first. */
export const versions = ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"] as const;

type Content = Omit<Spec, "cdiVersion">;

interface Need {
  readonly version: string;
  readonly used: (edits: ContainerEdits) => boolean;
  /** See `minimumAccepted`. */
  readonly overlooked?: true;
}

/** Fields of edits by the version that added them; 0.8.0 and 1.0.0 added no fields. */
const needs: readonly Need[] = [
  {
    version: "1.1.0",
    used: (edits) =>
      (edits.netDevices?.length ?? 0) > 0 ||
      edits.intelRdt?.schemata !== undefined ||
      edits.intelRdt?.enableMonitoring === true,
  },
  {
    version: "0.7.0",
    used: (edits) => edits.intelRdt !== undefined || (edits.additionalGids?.length ?? 0) > 0,
  },
  {
    version: "0.5.0",
    used: (edits) => edits.deviceNodes?.some((node) => node.hostPath) ?? false,
    overlooked: true,
  },
  { version: "0.4.0", used: (edits) => edits.mounts?.some((mount) => mount.type) ?? false, overlooked: true },
];

function atLeast(version: string, other: string): boolean {
  return versionOrder(version) >= versionOrder(other);
}

/** Returns the index of a version, -1 for an unknown one. */
export function versionOrder(version: string): number {
  return versions.indexOf(version.replace(/^v/, "") as (typeof versions)[number]);
}

/** Returns the lowest version with all features of the spec. Writing it lets old runtimes read the spec. */
export function minimumVersion(spec: Content): string {
  return lowest(spec, () => spec.devices);
}

/**
 * Returns the lowest version that a spec may declare. The library of container runtimes (up to 1.1.1) checks
 * host paths of device nodes and types of mounts in the last device only, so existing specs declare versions
 * that are too low, and must be accepted.
 */
export function minimumAccepted(spec: Content): string {
  return lowest(spec, ({ overlooked }) => (overlooked ? spec.devices.slice(-1) : spec.devices));
}

function lowest(spec: Content, devicesFor: (need: Need) => readonly Device[]): string {
  let minimum: string = versions[0];
  const raise = (version: string): void => {
    if (!atLeast(minimum, version)) minimum = version;
  };
  for (const need of needs) {
    const edits = [spec.containerEdits ?? {}, ...devicesFor(need).map((device) => device.containerEdits)];
    if (edits.some(need.used)) raise(need.version);
  }
  const annotated = [spec, ...spec.devices].some((one) => Object.keys(one.annotations ?? {}).length > 0);
  if (annotated || (spec.kind.split("/")[1] ?? "").includes(".")) raise("0.6.0");
  if (spec.devices.some((device) => /^[0-9]/.test(device.name))) raise("0.5.0");
  return minimum;
}
