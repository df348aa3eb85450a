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
function checkClaims(errors: FieldErrors, claims: readonly PodResourceClaim[], podName: string): void {
  const seen = new Set<string>();
  claims.forEach((claim, index) => {
    const here = errors.index(index);
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (!name) here.at("name").required();
    else if (seen.has(name)) here.at("name").duplicate(name);
    else {
      here.at("name").check(dnsLabel, name);
      seen.add(name);
    }
    const printed = {
      Name: name ?? "",
      ResourceClaimName: resourceClaimName ?? null,
      ResourceClaimTemplateName: resourceClaimTemplateName ?? null,
    };
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
      here.invalid(printed, detail);
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      const detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
      here.invalid(printed, detail);
    }
    if (resourceClaimName !== undefined) {
      here.at("resourceClaimName").check(dnsSubdomain, resourceClaimName);
    }
    if (resourceClaimTemplateName === undefined) return;
    here.at("resourceClaimTemplateName").check(dnsSubdomain, resourceClaimTemplateName);
    // The claim is named after the pod and this entry, cut to length.
    if (podName === "" || !name || dnsLabel(name).length > 0) return;
    const generated = `${podName}-${name}`.slice(0, 253).replace(/[-.]+$/, "");
    for (const problem of dnsSubdomain(generated)) {
      here.at("name").invalid(name, `final ResourceClaim name: ${quoted(generated)}: ${problem}`);
    }
  });
}

function checkDeadline(errors: FieldErrors, { activeDeadlineSeconds: seconds }: PodSpec): void {
  if (seconds === undefined || seconds === null) return;
  for (const problem of rangeProblem(seconds, 1, maxInt32)) errors.invalid(seconds, problem);
}

function checkHostPorts(errors: FieldErrors, spec: PodSpec, isPod: boolean): void {
  if (!spec.hostNetwork) return;
  (spec.containers ?? []).forEach(({ ports }, index) => {
    (ports ?? []).forEach(({ hostPort = 0, containerPort }, place) => {
      if (hostPort === containerPort || (!isPod && hostPort === 0)) return;
      const detail = "must match `containerPort` when `hostNetwork` is true";
      errors.index(index).at("ports").index(place).at("hostPort").invalid(hostPort, detail);
    });
  });
}

function checkHostUsers(errors: FieldErrors, spec: PodSpec): void {
  if (spec.hostUsers !== false) return;
  const detail = "when `hostUsers` is false";
  if (spec.hostNetwork) errors.at("hostNetwork").forbidden(detail);
  if (spec.hostPID) errors.at("HostPID").forbidden(detail);
  if (spec.hostIPC) errors.at("HostIPC").forbidden(detail);
  for (const name of ["initContainers", "containers", "ephemeralContainers"] as const) {
    (spec[name] ?? []).forEach(({ volumeDevices }, index) => {
      if ((volumeDevices ?? []).length > 0)
        errors.at(name).index(index).at("volumeDevices").forbidden(detail);
    });
  }
}

const maxHostLength = 64;

function checkHostname(errors: FieldErrors, spec: PodSpec): void {
  const name = spec.hostnameOverride;
  if (name === undefined || name === null) return;
  const here = errors.at("hostnameOverride");
  if (spec.setHostnameAsFQDN) {
    here.forbidden("may not be specified when setHostnameAsFQDN is true");
  }
  if (spec.hostNetwork) here.forbidden("may not be specified when hostNetwork is true");
  if (name.length > maxHostLength) here.tooLong(maxHostLength);
  here.check(dnsSubdomain, name);
}

/** A pod's spec with the name of the pod, or a template's. */
export function checkPodSpec(
  errors: FieldErrors,
  spec: PodSpec,
  context: ValidationContext,
  podName?: string,
): void {
  const grace = spec.terminationGracePeriodSeconds;
  if (grace === undefined || grace === null) errors.at("terminationGracePeriodSeconds").required();
  const volumes = checkVolumes(errors.at("volumes"), spec.volumes, podName ?? "");
  checkClaims(errors.at("resourceClaims"), spec.resourceClaims ?? [], podName ?? "");
  checkContainers(errors, { spec, volumes, claims: claimNames(spec), context });
  checkPodResources(errors.at("resources"), spec);
  checkHostPorts(errors.at("containers"), spec, podName !== undefined);
  errors.at("restartPolicy").oneOf(spec.restartPolicy, ["Always", "OnFailure", "Never"]);
  errors.at("dnsPolicy").oneOf(spec.dnsPolicy, dnsPolicies);
  checkLabels(errors.at("nodeSelector"), spec.nodeSelector);
  checkPodSecurity(errors.at("securityContext"), spec);
  checkAffinity(errors.at("affinity"), spec);
  checkDns(errors.at("dnsConfig"), spec, context.features.version);
  (spec.readinessGates ?? []).forEach(({ conditionType = "" }, index) => {
    errors.at("readinessGates").index(index).at("conditionType").check(qualifiedName, conditionType);
  });
  checkGates(errors.at("schedulingGates"), spec);
  checkSpreading(errors.at("topologySpreadConstraints"), spec);
  checkHostProcess(errors, spec);
  checkHostUsers(errors, spec);
  checkHostname(errors, spec);
  if (spec.serviceAccountName) errors.at("serviceAccountName").check(dnsSubdomain, spec.serviceAccountName);
  if (spec.nodeName) errors.at("nodeName").check(dnsSubdomain, spec.nodeName);
  checkDeadline(errors.at("activeDeadlineSeconds"), spec);
  if (spec.hostname) errors.at("hostname").check(dnsLabel, spec.hostname);
  if (spec.subdomain) errors.at("subdomain").check(dnsLabel, spec.subdomain);
  checkTolerations(errors.at("tolerations"), spec, allowsComparisons(context.features));
  checkHostAliases(errors.at("hostAliases"), spec, context.features.version);
  if (spec.priorityClassName) {
    errors.at("priorityClassName").check(dnsSubdomain, spec.priorityClassName);
  }
  if (spec.runtimeClassName !== undefined && spec.runtimeClassName !== null) {
    errors.at("runtimeClassName").check(dnsSubdomain, spec.runtimeClassName);
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== null) {
    errors.at("preemptionPolicy").oneOf(spec.preemptionPolicy, ["PreemptLowerPriority", "Never"]);
  }
  if (spec.overhead) checkResources(errors.at("overhead"), { limits: spec.overhead });
  checkSystem(errors, spec);
  checkFileVolumes(errors, spec);
}

const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/** Variables are read from files of volumes that are empty at first. */
function checkFileVolumes(errors: FieldErrors, spec: PodSpec): void {
  const volumes = byName(spec.volumes ?? []);
  for (const name of ["initContainers", "containers", "ephemeralContainers"] as const) {
    (spec[name] ?? []).forEach(({ env }, index) => {
      (env ?? []).forEach(({ valueFrom }, place) => {
        const volumeName = valueFrom?.fileKeyRef?.volumeName;
        if (volumeName === undefined) return;
        const here = errors
          .at(name)
          .index(index)
          .at("env")
          .index(place)
          .at("valueFrom.fileKeyRef.volumeName");
        const volume = volumes.get(volumeName);
        if (!volume) here.notFound(volumeName);
        else if (!volume.emptyDir) {
          here.invalid(volumeName, "referenced volume must be of type emptyDir");
        }
      });
    });
  }
}
