/** Security contexts of pods and containers. */

import type { FieldErrors } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import type {
  AppArmorProfile,
  Container,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
} from "../../../generated/core/v1.ts";
import { byteLength } from "../../../values/names.ts";
import { checkLocalPath } from "./paths.ts";
import { checkWindowsOptions } from "./windows.ts";

function checkId(errors: FieldErrors, id: number | bigint | undefined | null): void {
  if (id === undefined || id === null || (id >= 0 && id <= 2 ** 31 - 1)) return;
  errors.invalid(id, "must be between 0 and 2147483647, inclusive");
}

function checkSeccomp(errors: FieldErrors, profile: SeccompProfile | undefined): void {
  if (!profile) return;
  const types = ["Localhost", "RuntimeDefault", "Unconfined"];
  if (!profile.type) errors.at("type").required("type is required when seccompProfile is set");
  else if (!types.includes(profile.type)) errors.at("type").notSupported(profile.type, types);
  const local = profile.localhostProfile;
  if (profile.type !== "Localhost") {
    if (local === undefined || local === null) return;
    const printed = internalForm("core/v1.SeccompProfile", profile, errors);
    errors.at("localhostProfile").invalid(printed, "can only be set when seccomp type is Localhost");
  } else if (local === undefined || local === null) {
    errors.at("localhostProfile").required("must be set when seccomp type is Localhost");
  } else checkLocalPath(errors.at("localhostProfile"), local);
}

const maxPathLength = 4095;

function checkAppArmor(errors: FieldErrors, profile: AppArmorProfile | undefined): void {
  if (!profile) return;
  const types = ["Localhost", "RuntimeDefault", "Unconfined"];
  const local = profile.localhostProfile;
  const here = errors.at("localhostProfile");
  if (profile.type === "Localhost") {
    const missing = "must be set when AppArmor type is Localhost";
    if (local === undefined || local === null) here.required(missing);
    else {
      if (local.trim() !== local) here.invalid(local, "must not be padded with whitespace");
      else if (local === "") here.required(missing);
      if (byteLength(local) > maxPathLength) here.tooLong(maxPathLength);
    }
  } else if (!profile.type) errors.at("type").required("type is required when appArmorProfile is set");
  else if (!types.includes(profile.type)) errors.at("type").notSupported(profile.type, types);
  else if (local !== undefined && local !== null) {
    here.invalid(local, "can only be set when AppArmor type is Localhost");
  }
}

const sysctlSegment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctlForm = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`;
const sysctlPattern = new RegExp(sysctlForm);
const sysctlLimit = 253;

function checkSysctls(errors: FieldErrors, spec: PodSpec): void {
  const seen = new Set<string>();
  (spec.securityContext?.sysctls ?? []).forEach(({ name = "" }, index) => {
    const here = errors.index(index).at("name");
    if (name === "") here.required();
    else if (name.length > sysctlLimit || !sysctlPattern.test(name)) {
      here.invalid(name, `must have at most ${sysctlLimit} characters and match regex ${sysctlForm}`);
    } else if (seen.has(name)) here.duplicate(name);
    const plain = name.replaceAll("/", ".");
    if (spec.hostNetwork && plain.startsWith("net.")) {
      here.invalid(name, "may not be specified when 'hostNetwork' is true");
    } else if (spec.hostIPC && /^(kernel\.(sem$|shm|msg)|fs\.mqueue\.)/.test(plain)) {
      here.invalid(name, "may not be specified when 'hostIPC' is true");
    }
    seen.add(name);
  });
}

function oneOf(errors: FieldErrors, value: string | undefined, known: readonly string[]): void {
  if (value !== undefined && value !== null && !known.includes(value)) errors.notSupported(value, known);
}

export function checkPodSecurity(errors: FieldErrors, spec: PodSpec): void {
  const context: PodSecurityContext | undefined = spec.securityContext;
  checkId(errors.at("fsGroup"), context?.fsGroup);
  checkId(errors.at("runAsUser"), context?.runAsUser);
  checkId(errors.at("runAsGroup"), context?.runAsGroup);
  (context?.supplementalGroups ?? []).forEach((id, index) => {
    checkId(errors.at("supplementalGroups").index(index), id);
  });
  if (spec.shareProcessNamespace && spec.hostPID) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    errors.at("shareProcessNamespace").invalid(true, detail);
  }
  checkSysctls(errors.at("sysctls"), spec);
  oneOf(errors.at("fsGroupChangePolicy"), context?.fsGroupChangePolicy, ["Always", "OnRootMismatch"]);
  checkSeccomp(errors.at("seccompProfile"), context?.seccompProfile);
  checkWindowsOptions(errors.at("windowsOptions"), context?.windowsOptions);
  checkAppArmor(errors.at("appArmorProfile"), context?.appArmorProfile);
  oneOf(errors.at("supplementalGroupsPolicy"), context?.supplementalGroupsPolicy, ["Merge", "Strict"]);
  oneOf(errors.at("seLinuxChangePolicy"), context?.seLinuxChangePolicy, ["Recursive"]);
}

export function checkContainerSecurity(errors: FieldErrors, container: Container, hostUsers: boolean): void {
  const context = container.securityContext;
  if (!context) return;
  checkId(errors.at("runAsUser"), context.runAsUser);
  checkId(errors.at("runAsGroup"), context.runAsGroup);
  const mount = context.procMount;
  if (mount !== undefined && mount !== null) {
    if (mount !== "Default" && mount !== "Unmasked") {
      errors.at("procMount").notSupported(mount, ["Default", "Unmasked"]);
    }
    if (hostUsers && mount === "Unmasked") {
      errors.at("procMount").invalid(mount, "`hostUsers` must be false to use `Unmasked`");
    }
  }
  checkSeccomp(errors.at("seccompProfile"), context.seccompProfile);
  if (context.allowPrivilegeEscalation === false) {
    const printed = internalForm("core/v1.SecurityContext", context, errors);
    if (context.privileged) {
      errors.invalid(printed, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    if (context.capabilities?.add?.includes("CAP_SYS_ADMIN")) {
      const detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
      errors.invalid(printed, detail);
    }
  }
  checkWindowsOptions(errors.at("windowsOptions"), context.windowsOptions);
  checkAppArmor(errors.at("appArmorProfile"), context.appArmorProfile);
}
