/** Checks of fields that pods may set on one operating system only (KEP-2802). */

import type { FieldErrors } from "../../../checks/field.ts";
import type { Container, PodSpec } from "../../../generated/core/v1.ts";

const podContext = ["appArmorProfile", "seLinuxOptions"] as const;
const podContextLater = ["seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"] as const;
const podContextLast = [
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
] as const;
const containerContext = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const;

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function eachContainer(spec: PodSpec, visit: (container: Container, path: string) => void): void {
  for (const name of ["initContainers", "containers", "ephemeralContainers"] as const) {
    ((spec[name] ?? []) as readonly Container[]).forEach((container, index) => {
      visit(container, `${name}[${index}]`);
    });
  }
}

function checkWindows(errors: FieldErrors, path: string, spec: PodSpec): void {
  const forbid = (at: string): void => errors.forbidden(`${path}.${at}`, "cannot be set for a windows pod");
  const context = spec.securityContext;
  const forbidFields = (names: readonly (keyof NonNullable<typeof context>)[]): void => {
    for (const name of names) if (isSet(context?.[name])) forbid(`securityContext.${name}`);
  };
  forbidFields(podContext);
  if (isSet(spec.hostUsers)) forbid("hostUsers");
  if (spec.hostPID) forbid("hostPID");
  if (spec.hostIPC) forbid("hostIPC");
  forbidFields(podContextLater);
  if (isSet(spec.shareProcessNamespace)) forbid("shareProcessNamespace");
  forbidFields(podContextLast);
  eachContainer(spec, (container, at) => {
    for (const name of containerContext) {
      if (isSet(container.securityContext?.[name])) forbid(`${at}.securityContext.${name}`);
    }
  });
}

function checkLinux(errors: FieldErrors, path: string, spec: PodSpec): void {
  const forbid = (at: string): void =>
    errors.forbidden(
      `${path}.${at}securityContext.windowsOptions`,
      "windows options cannot be set for a linux pod",
    );
  if (spec.securityContext?.windowsOptions) forbid("");
  eachContainer(spec, (container, at) => {
    if (container.securityContext?.windowsOptions) forbid(`${at}.`);
  });
}

export function checkSystem(errors: FieldErrors, path: string, spec: PodSpec): void {
  if (!spec.os) return;
  const { name } = spec.os;
  if (!name) errors.required(`${path}.os.name`);
  else if (name === "linux") checkLinux(errors, path, spec);
  else if (name === "windows") checkWindows(errors, path, spec);
  else errors.notSupported(`${path}.os`, name, ["linux", "windows"]);
}
