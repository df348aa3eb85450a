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

function eachContainer(
  errors: FieldErrors,
  spec: PodSpec,
  visit: (errors: FieldErrors, container: Container) => void,
): void {
  for (const name of ["initContainers", "containers", "ephemeralContainers"] as const) {
    ((spec[name] ?? []) as readonly Container[]).forEach((container, index) => {
      visit(errors.at(name).index(index), container);
    });
  }
}

function checkWindows(errors: FieldErrors, spec: PodSpec): void {
  const forbid = (scope: FieldErrors): void => scope.forbidden("cannot be set for a windows pod");
  const context = spec.securityContext;
  const forbidFields = (names: readonly (keyof NonNullable<typeof context>)[]): void => {
    for (const name of names) if (isSet(context?.[name])) forbid(errors.at("securityContext").at(name));
  };
  forbidFields(podContext);
  if (isSet(spec.hostUsers)) forbid(errors.at("hostUsers"));
  if (spec.hostPID) forbid(errors.at("hostPID"));
  if (spec.hostIPC) forbid(errors.at("hostIPC"));
  forbidFields(podContextLater);
  if (isSet(spec.shareProcessNamespace)) forbid(errors.at("shareProcessNamespace"));
  forbidFields(podContextLast);
  eachContainer(errors, spec, (here, container) => {
    for (const name of containerContext) {
      if (isSet(container.securityContext?.[name])) forbid(here.at("securityContext").at(name));
    }
  });
}

function checkLinux(errors: FieldErrors, spec: PodSpec): void {
  const forbid = (scope: FieldErrors): void =>
    scope.at("securityContext.windowsOptions").forbidden("windows options cannot be set for a linux pod");
  if (spec.securityContext?.windowsOptions) forbid(errors);
  eachContainer(errors, spec, (here, container) => {
    if (container.securityContext?.windowsOptions) forbid(here);
  });
}

export function checkSystem(errors: FieldErrors, spec: PodSpec): void {
  if (!spec.os) return;
  const { name } = spec.os;
  if (!name) errors.at("os.name").required();
  else if (name === "linux") checkLinux(errors, spec);
  else if (name === "windows") checkWindows(errors, spec);
  else errors.at("os").notSupported(name, ["linux", "windows"]);
}
