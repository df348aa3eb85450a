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

function checkId(errors: FieldErrors, path: string, id: number | bigint | undefined | null): void {
  if (id === undefined || id === null || (id >= 0 && id <= 2 ** 31 - 1)) return;
  errors.invalid(path, id, "must be between 0 and 2147483647, inclusive");
}

function checkSeccomp(
  errors: FieldErrors,
  path: string,
  profile: SeccompProfile | undefined,
  version: string,
): void {
  if (!profile) return;
  const types = ["Localhost", "RuntimeDefault", "Unconfined"];
  if (!profile.type) errors.required(`${path}.type`, "type is required when seccompProfile is set");
  else if (!types.includes(profile.type)) errors.notSupported(`${path}.type`, profile.type, types);
  const local = profile.localhostProfile;
  if (profile.type !== "Localhost") {
    if (local === undefined || local === null) return;
    const printed = internalForm("core/v1.SeccompProfile", profile, version);
    errors.invalid(`${path}.localhostProfile`, printed, "can only be set when seccomp type is Localhost");
  } else if (local === undefined || local === null) {
    errors.required(`${path}.localhostProfile`, "must be set when seccomp type is Localhost");
  } else checkLocalPath(errors, `${path}.localhostProfile`, local);
}

const maxPathLength = 4095;

function checkAppArmor(errors: FieldErrors, path: string, profile: AppArmorProfile | undefined): void {
  if (!profile) return;
  const types = ["Localhost", "RuntimeDefault", "Unconfined"];
  const local = profile.localhostProfile;
  const at = `${path}.localhostProfile`;
  if (profile.type === "Localhost") {
    const missing = "must be set when AppArmor type is Localhost";
    if (local === undefined || local === null) errors.required(at, missing);
    else {
      if (local.trim() !== local) errors.invalid(at, local, "must not be padded with whitespace");
      else if (local === "") errors.required(at, missing);
      if (byteLength(local) > maxPathLength) errors.tooLong(at, maxPathLength);
    }
  } else if (!profile.type) errors.required(`${path}.type`, "type is required when appArmorProfile is set");
  else if (!types.includes(profile.type)) errors.notSupported(`${path}.type`, profile.type, types);
  else if (local !== undefined && local !== null) {
    errors.invalid(at, local, "can only be set when AppArmor type is Localhost");
  }
}

const sysctlSegment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctlForm = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`;
const sysctlPattern = new RegExp(sysctlForm);
const sysctlLimit = 253;

function checkSysctls(errors: FieldErrors, path: string, spec: PodSpec): void {
  const seen = new Set<string>();
  (spec.securityContext?.sysctls ?? []).forEach(({ name = "" }, index) => {
    const at = `${path}[${index}].name`;
    if (name === "") errors.required(at);
    else if (name.length > sysctlLimit || !sysctlPattern.test(name)) {
      errors.invalid(at, name, `must have at most ${sysctlLimit} characters and match regex ${sysctlForm}`);
    } else if (seen.has(name)) errors.duplicate(at, name);
    const plain = name.replaceAll("/", ".");
    if (spec.hostNetwork && plain.startsWith("net.")) {
      errors.invalid(at, name, "may not be specified when 'hostNetwork' is true");
    } else if (spec.hostIPC && /^(kernel\.(sem$|shm|msg)|fs\.mqueue\.)/.test(plain)) {
      errors.invalid(at, name, "may not be specified when 'hostIPC' is true");
    }
    seen.add(name);
  });
}

function oneOf(errors: FieldErrors, path: string, value: string | undefined, known: readonly string[]): void {
  if (value !== undefined && value !== null && !known.includes(value))
    errors.notSupported(path, value, known);
}

export function checkPodSecurity(errors: FieldErrors, path: string, spec: PodSpec, version: string): void {
  const context: PodSecurityContext | undefined = spec.securityContext;
  checkId(errors, `${path}.fsGroup`, context?.fsGroup);
  checkId(errors, `${path}.runAsUser`, context?.runAsUser);
  checkId(errors, `${path}.runAsGroup`, context?.runAsGroup);
  (context?.supplementalGroups ?? []).forEach((id, index) => {
    checkId(errors, `${path}.supplementalGroups[${index}]`, id);
  });
  if (spec.shareProcessNamespace && spec.hostPID) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    errors.invalid(`${path}.shareProcessNamespace`, true, detail);
  }
  checkSysctls(errors, `${path}.sysctls`, spec);
  oneOf(errors, `${path}.fsGroupChangePolicy`, context?.fsGroupChangePolicy, ["Always", "OnRootMismatch"]);
  checkSeccomp(errors, `${path}.seccompProfile`, context?.seccompProfile, version);
  checkWindowsOptions(errors, `${path}.windowsOptions`, context?.windowsOptions);
  checkAppArmor(errors, `${path}.appArmorProfile`, context?.appArmorProfile);
  oneOf(errors, `${path}.supplementalGroupsPolicy`, context?.supplementalGroupsPolicy, ["Merge", "Strict"]);
  oneOf(errors, `${path}.seLinuxChangePolicy`, context?.seLinuxChangePolicy, ["Recursive"]);
}

export function checkContainerSecurity(
  errors: FieldErrors,
  path: string,
  container: Container,
  hostUsers: boolean,
  version: string,
): void {
  const context = container.securityContext;
  if (!context) return;
  checkId(errors, `${path}.runAsUser`, context.runAsUser);
  checkId(errors, `${path}.runAsGroup`, context.runAsGroup);
  const mount = context.procMount;
  if (mount !== undefined && mount !== null) {
    if (mount !== "Default" && mount !== "Unmasked") {
      errors.notSupported(`${path}.procMount`, mount, ["Default", "Unmasked"]);
    }
    if (hostUsers && mount === "Unmasked") {
      errors.invalid(`${path}.procMount`, mount, "`hostUsers` must be false to use `Unmasked`");
    }
  }
  checkSeccomp(errors, `${path}.seccompProfile`, context.seccompProfile, version);
  if (context.allowPrivilegeEscalation === false) {
    const printed = internalForm("core/v1.SecurityContext", context, version);
    if (context.privileged) {
      errors.invalid(
        path,
        printed,
        "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
      );
    }
    if (context.capabilities?.add?.includes("CAP_SYS_ADMIN")) {
      const detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
      errors.invalid(path, printed, detail);
    }
  }
  checkWindowsOptions(errors, `${path}.windowsOptions`, context.windowsOptions);
  checkAppArmor(errors, `${path}.appArmorProfile`, context.appArmorProfile);
}
