import type { ValidationContext } from "../../../checks/context.ts";
import { byName, type FieldErrors } from "../../../checks/field.ts";
import { checkLabels } from "../../../checks/metadata.ts";
import type { PodResourceClaim, PodSpec } from "../../../generated/core/v1.ts";
import { quoted } from "../../../text/quoted.ts";
import { dnsLabel, dnsSubdomain, qualifiedName, rangeProblem } from "../../../values/names.ts";
import { checkContainers } from "./containers.ts";
import { checkDns, checkHostAliases } from "./dns.ts";
import { checkPodResources, checkResources, claimNames } from "./resources.ts";
import {
  allowsComparisons,
  checkAffinity,
  checkGates,
  checkSpreading,
  checkTolerations,
} from "./scheduling.ts";
import { checkPodSecurity } from "./security.ts";
import { checkSystem } from "./system.ts";
import { checkVolumes } from "./volumes.ts";
import { checkHostProcess } from "./windows.ts";

const maxInt32 = 2 ** 31 - 1;

/** Claims of a pod: each named once, each a claim or a template (KEP-4381). */
function checkClaims(
  errors: FieldErrors,
  path: string,
  claims: readonly PodResourceClaim[],
  podName: string,
): void {
  const seen = new Set<string>();
  claims.forEach((claim, index) => {
    const at = `${path}[${index}]`;
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (!name) errors.required(`${at}.name`);
    else if (seen.has(name)) errors.duplicate(`${at}.name`, name);
    else {
      errors.check(dnsLabel, `${at}.name`, name);
      seen.add(name);
    }
    const printed = {
      Name: name ?? "",
      ResourceClaimName: resourceClaimName ?? null,
      ResourceClaimTemplateName: resourceClaimTemplateName ?? null,
    };
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
      errors.invalid(at, printed, detail);
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      const detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
      errors.invalid(at, printed, detail);
    }
    if (resourceClaimName !== undefined) {
      errors.check(dnsSubdomain, `${at}.resourceClaimName`, resourceClaimName);
    }
    if (resourceClaimTemplateName === undefined) return;
    errors.check(dnsSubdomain, `${at}.resourceClaimTemplateName`, resourceClaimTemplateName);
    // The claim is named after the pod and this entry; a name that is cut to length is no concern here.
    if (podName === "" || !name || dnsLabel(name).length > 0) return;
    const generated = `${podName}-${name}`.slice(0, 253).replace(/[-.]+$/, "");
    for (const problem of dnsSubdomain(generated)) {
      errors.invalid(`${at}.name`, name, `final ResourceClaim name: ${quoted(generated)}: ${problem}`);
    }
  });
}

function checkDeadline(errors: FieldErrors, path: string, { activeDeadlineSeconds: seconds }: PodSpec): void {
  if (seconds === undefined || seconds === null) return;
  for (const problem of rangeProblem(seconds, 1, maxInt32)) errors.invalid(path, seconds, problem);
}

function checkHostPorts(errors: FieldErrors, path: string, spec: PodSpec, isPod: boolean): void {
  if (!spec.hostNetwork) return;
  (spec.containers ?? []).forEach(({ ports }, index) => {
    (ports ?? []).forEach(({ hostPort = 0, containerPort }, place) => {
      if (hostPort === containerPort || (!isPod && hostPort === 0)) return;
      const detail = "must match `containerPort` when `hostNetwork` is true";
      errors.invalid(`${path}[${index}].ports[${place}].hostPort`, hostPort, detail);
    });
  });
}

function checkHostUsers(errors: FieldErrors, path: string, spec: PodSpec): void {
  if (spec.hostUsers !== false) return;
  const detail = "when `hostUsers` is false";
  if (spec.hostNetwork) errors.forbidden(`${path}.hostNetwork`, detail);
  if (spec.hostPID) errors.forbidden(`${path}.HostPID`, detail);
  if (spec.hostIPC) errors.forbidden(`${path}.HostIPC`, detail);
  for (const name of ["initContainers", "containers", "ephemeralContainers"] as const) {
    (spec[name] ?? []).forEach(({ volumeDevices }, index) => {
      if ((volumeDevices ?? []).length > 0)
        errors.forbidden(`${path}.${name}[${index}].volumeDevices`, detail);
    });
  }
}

const maxHostLength = 64;

function checkHostname(errors: FieldErrors, path: string, spec: PodSpec): void {
  const name = spec.hostnameOverride;
  if (name === undefined || name === null) return;
  const at = `${path}.hostnameOverride`;
  if (spec.setHostnameAsFQDN) {
    errors.forbidden(at, "may not be specified when setHostnameAsFQDN is true");
  }
  if (spec.hostNetwork) errors.forbidden(at, "may not be specified when hostNetwork is true");
  if (name.length > maxHostLength) errors.tooLong(at, maxHostLength);
  errors.check(dnsSubdomain, at, name);
}

/** A pod's spec, or a template's (`podName` is then empty, and `isPod` false). */
export function checkPodSpec(
  errors: FieldErrors,
  path: string,
  spec: PodSpec,
  podName: string,
  context: ValidationContext,
  isPod = false,
): void {
  const grace = spec.terminationGracePeriodSeconds;
  if (grace === undefined || grace === null) errors.required(`${path}.terminationGracePeriodSeconds`);
  const volumes = checkVolumes(errors, `${path}.volumes`, spec.volumes, podName);
  checkClaims(errors, `${path}.resourceClaims`, spec.resourceClaims ?? [], podName);
  checkContainers(errors, path, { spec, volumes, claims: claimNames(spec), context });
  checkPodResources(errors, `${path}.resources`, spec);
  checkHostPorts(errors, `${path}.containers`, spec, isPod);
  errors.oneOf(`${path}.restartPolicy`, spec.restartPolicy, ["Always", "OnFailure", "Never"]);
  errors.oneOf(`${path}.dnsPolicy`, spec.dnsPolicy, dnsPolicies);
  checkLabels(errors, `${path}.nodeSelector`, spec.nodeSelector);
  checkPodSecurity(errors, `${path}.securityContext`, spec, context.features.version);
  checkAffinity(errors, `${path}.affinity`, spec);
  checkDns(errors, `${path}.dnsConfig`, spec, context.features.version);
  (spec.readinessGates ?? []).forEach(({ conditionType = "" }, index) => {
    errors.check(qualifiedName, `${path}.readinessGates[${index}].conditionType`, conditionType);
  });
  checkGates(errors, `${path}.schedulingGates`, spec);
  checkSpreading(errors, `${path}.topologySpreadConstraints`, spec);
  checkHostProcess(errors, path, spec);
  checkHostUsers(errors, path, spec);
  checkHostname(errors, path, spec);
  if (spec.serviceAccountName)
    errors.check(dnsSubdomain, `${path}.serviceAccountName`, spec.serviceAccountName);
  if (spec.nodeName) errors.check(dnsSubdomain, `${path}.nodeName`, spec.nodeName);
  checkDeadline(errors, `${path}.activeDeadlineSeconds`, spec);
  if (spec.hostname) errors.check(dnsLabel, `${path}.hostname`, spec.hostname);
  if (spec.subdomain) errors.check(dnsLabel, `${path}.subdomain`, spec.subdomain);
  checkTolerations(errors, `${path}.tolerations`, spec, allowsComparisons(context.features));
  checkHostAliases(errors, `${path}.hostAliases`, spec, context.features.version);
  if (spec.priorityClassName) {
    errors.check(dnsSubdomain, `${path}.priorityClassName`, spec.priorityClassName);
  }
  if (spec.runtimeClassName !== undefined && spec.runtimeClassName !== null) {
    errors.check(dnsSubdomain, `${path}.runtimeClassName`, spec.runtimeClassName);
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== null) {
    errors.oneOf(`${path}.preemptionPolicy`, spec.preemptionPolicy, ["PreemptLowerPriority", "Never"]);
  }
  if (spec.overhead) checkResources(errors, `${path}.overhead`, { limits: spec.overhead });
  checkSystem(errors, path, spec);
  checkFileVolumes(errors, path, spec);
}

const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/** Variables are read from files of volumes that are empty at first. */
function checkFileVolumes(errors: FieldErrors, path: string, spec: PodSpec): void {
  const volumes = byName(spec.volumes ?? []);
  for (const name of ["initContainers", "containers", "ephemeralContainers"] as const) {
    (spec[name] ?? []).forEach(({ env }, index) => {
      (env ?? []).forEach(({ valueFrom }, place) => {
        const volumeName = valueFrom?.fileKeyRef?.volumeName;
        if (volumeName === undefined) return;
        const at = `${path}.${name}[${index}].env[${place}].valueFrom.fileKeyRef.volumeName`;
        const volume = volumes.get(volumeName);
        if (!volume) errors.notFound(at, volumeName);
        else if (!volume.emptyDir) {
          errors.invalid(at, volumeName, "referenced volume must be of type emptyDir");
        }
      });
    });
  }
}
