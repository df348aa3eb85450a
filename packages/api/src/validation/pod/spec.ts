import type { PodResourceClaim, PodSpec } from "../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain, rangeProblem } from "../../names.ts";
import { quoted } from "../../quoted.ts";
import type { FieldErrors } from "../field.ts";
import { checkContainers } from "./containers.ts";
import { checkPlacement } from "./scheduling.ts";
import { checkVolumes } from "./volumes.ts";

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

/** A pod's spec, or a template's (`podName` is then empty). */
export function checkPodSpec(errors: FieldErrors, path: string, spec: PodSpec, podName: string): void {
  checkVolumes(errors, `${path}.volumes`, spec.volumes);
  checkClaims(errors, `${path}.resourceClaims`, spec.resourceClaims ?? [], podName);
  checkContainers(errors, path, spec);
  if ((spec.resources?.claims ?? []).length > 0) {
    errors.forbidden(`${path}.resources.claims`, "claims may not be set for Resources at pod-level");
  }
  const restarts = ["Always", "OnFailure", "Never"];
  errors.oneOf(`${path}.restartPolicy`, spec.restartPolicy, restarts);
  errors.oneOf(`${path}.dnsPolicy`, spec.dnsPolicy, [
    "ClusterFirstWithHostNet",
    "ClusterFirst",
    "Default",
    "None",
  ]);
  const grace = spec.terminationGracePeriodSeconds;
  if (grace === undefined || grace === null) errors.required(`${path}.terminationGracePeriodSeconds`);
  checkPlacement(errors, path, spec);
  if (spec.serviceAccountName)
    errors.check(dnsSubdomain, `${path}.serviceAccountName`, spec.serviceAccountName);
  if (spec.nodeName) errors.check(dnsSubdomain, `${path}.nodeName`, spec.nodeName);
  checkDeadline(errors, `${path}.activeDeadlineSeconds`, spec);
  if (spec.hostname) errors.check(dnsLabel, `${path}.hostname`, spec.hostname);
  if (spec.subdomain) errors.check(dnsLabel, `${path}.subdomain`, spec.subdomain);
  if (spec.priorityClassName) {
    errors.check(dnsSubdomain, `${path}.priorityClassName`, spec.priorityClassName);
  }
  if (spec.runtimeClassName) errors.check(dnsSubdomain, `${path}.runtimeClassName`, spec.runtimeClassName);
}
