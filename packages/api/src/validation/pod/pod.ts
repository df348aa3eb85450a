import type { Container, Pod, PodSpec, Toleration } from "../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain } from "../../names.ts";
import { canonicalAddress } from "../address.ts";
import { checkImmutable, type FieldErrors, sameValue } from "../field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../metadata.ts";
import { checkTolerations } from "./scheduling.ts";
import { checkPodSpec } from "./spec.ts";

const emptySpec: PodSpec = { containers: [] };

export function checkPod(errors: FieldErrors, pod: Pod): void {
  checkMetadata(errors, "metadata", pod.metadata, dnsSubdomain, true);
  checkFinalizerNames(errors, "metadata", pod.metadata);
  checkPodSpec(errors, "spec", pod.spec ?? emptySpec, pod.metadata.name);
}

/** The containers with the images of the old ones: an image may change at any time. */
function withImages(
  containers: readonly Container[] | undefined,
  old: readonly Container[] | undefined,
): unknown {
  return (containers ?? []).map((container, index) => ({ ...container, image: old?.[index]?.image ?? "" }));
}

/** Gates may go and none may come (KEP-3521); a gated pod may narrow down its nodes. */
function checkGates(errors: FieldErrors, spec: PodSpec, old: PodSpec): void {
  const before = (old.schedulingGates ?? []).map(({ name }) => name);
  const added = (spec.schedulingGates ?? []).map(({ name }) => name).filter((name) => !before.includes(name));
  if (added.length > 0) {
    errors.forbidden(
      "spec.schedulingGates",
      `only deletion is allowed, but found new scheduling gates '${added.sort().join(", ")}'`,
    );
  }
}

/** Tolerations may be added, and nothing else but the seconds of one changed. */
function checkTolerationsUpdate(errors: FieldErrors, spec: PodSpec, old: PodSpec): void {
  const plain = ({ tolerationSeconds: _changes, ...rest }: Toleration): unknown => rest;
  const kept = (old.tolerations ?? []).every((toleration) =>
    (spec.tolerations ?? []).some((now) => sameValue(plain(now), plain(toleration))),
  );
  if (!kept)
    errors.forbidden(
      "spec.tolerations",
      "existing toleration can not be modified except its tolerationSeconds",
    );
  checkTolerations(errors, "spec.tolerations", spec);
}

const mutable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

function checkDeadline(errors: FieldErrors, spec: PodSpec, old: PodSpec): void {
  const [now, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  const path = "spec.activeDeadlineSeconds";
  if (now === undefined || now === null) {
    if (before !== undefined && before !== null)
      errors.invalid(path, null, "must not update from a positive integer to nil value");
  } else if (now < 0 || now > 2 ** 31 - 1) {
    errors.invalid(path, now, "must be between 0 and 2147483647, inclusive");
  } else if (before !== undefined && before !== null && now > before) {
    errors.invalid(path, now, "must be less than or equal to previous value");
  }
}

export function checkPodUpdate(errors: FieldErrors, pod: Pod, old: Pod): void {
  checkMetadataUpdate(errors, "metadata", pod.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", pod.metadata);
  const [spec, before] = [pod.spec ?? emptySpec, old.spec ?? emptySpec];
  if ((spec.containers ?? []).length !== (before.containers ?? []).length) {
    errors.forbidden("spec.containers", "pod updates may not add or remove containers");
    return;
  }
  if ((spec.initContainers ?? []).length !== (before.initContainers ?? []).length) {
    errors.forbidden("spec.initContainers", "pod updates may not add or remove containers");
    return;
  }
  for (const name of ["initContainers", "containers"] as const) {
    (spec[name] ?? []).forEach((container, index) => {
      if (!container.image) errors.required(`spec.${name}[${index}].image`);
    });
  }
  checkDeadline(errors, spec, before);
  checkTolerationsUpdate(errors, spec, before);
  checkGates(errors, spec, before);
  const gated = (before.schedulingGates ?? []).length > 0;
  const grace = before.terminationGracePeriodSeconds;
  const masked: PodSpec = {
    ...spec,
    containers: withImages(spec.containers, before.containers) as Container[],
    initContainers: withImages(spec.initContainers, before.initContainers) as Container[],
    ...(before.activeDeadlineSeconds === undefined
      ? {}
      : { activeDeadlineSeconds: before.activeDeadlineSeconds }),
    tolerations: before.tolerations ?? [],
    schedulingGates: before.schedulingGates ?? [],
    ...(gated ? { nodeSelector: before.nodeSelector ?? {} } : {}),
    ...(grace !== undefined && grace < 0 && spec.terminationGracePeriodSeconds === 1
      ? { terminationGracePeriodSeconds: grace }
      : {}),
  };
  if (before.activeDeadlineSeconds === undefined) delete masked.activeDeadlineSeconds;
  if (gated && before.affinity) masked.affinity = before.affinity;
  else if (gated) delete masked.affinity;
  const changed = [...new Set([...Object.keys(masked), ...Object.keys(before)])].filter(
    (name) => !sameValue(masked[name as keyof PodSpec], before[name as keyof PodSpec]),
  );
  if (changed.length > 0) {
    errors.forbidden(
      "spec",
      `pod updates may not change fields other than ${mutable}\nchanged: ${changed.sort().join(", ")}`,
    );
  }
}

/** Names in the claim statuses are entries of the spec; what the scheduler made for extended resources is whole. */
function checkClaimStatuses(errors: FieldErrors, { spec, status }: Pod): void {
  const known = (spec?.resourceClaims ?? []).map(({ name }) => name);
  const seen = new Set<string>();
  (status?.resourceClaimStatuses ?? []).forEach(({ name = "", resourceClaimName }, index) => {
    const path = `status.resourceClaimStatuses[${index}]`;
    if (!known.includes(name)) {
      errors.invalid(`${path}.name`, name, "must match the name of an entry in `spec.resourceClaims`");
    }
    if (resourceClaimName !== undefined) {
      errors.check(dnsSubdomain, `${path}.resourceClaimName`, resourceClaimName);
    }
    if (seen.has(name)) errors.duplicate(`${path}.name`, name);
    seen.add(name);
  });
}

function checkExtendedClaim(errors: FieldErrors, { spec, status }: Pod): void {
  const extended = status?.extendedResourceClaimStatus;
  if (!extended) return;
  const path = "status.extendedResourceClaimStatus";
  const mappings = extended.requestMappings ?? [];
  if (mappings.length === 0)
    errors.required(`${path}.requestMappings`, "at least one request mapping is required");
  errors.checkRequired(dnsSubdomain, `${path}.resourceClaimName`, extended.resourceClaimName);
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ name }) => name);
  mappings.forEach((mapping, index) => {
    if (!containers.includes(mapping.containerName)) {
      const detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
      errors.invalid(`${path}.requestMappings[${index}].containerName`, mapping.containerName ?? "", detail);
    }
    // Upstream's path has no index here.
    errors.check(dnsLabel, `${path}.requestName`, mapping.requestName ?? "");
  });
}

export function checkPodStatus(errors: FieldErrors, pod: Pod, old: Pod): void {
  checkMetadataUpdate(errors, "metadata", pod.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", pod.metadata);
  const qos = old.status?.qosClass;
  if (qos && pod.status?.qosClass) checkImmutable(errors, "status.qosClass", pod.status.qosClass, qos);
  (pod.status?.podIPs ?? []).forEach(({ ip = "" }, index) => {
    if (canonicalAddress(ip) !== undefined) return;
    const detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    errors.invalid(`status.podIPs[${index}]`, ip, detail);
  });
  const nominated = pod.status?.nominatedNodeName;
  if (nominated) errors.check(dnsSubdomain, "status.nominatedNodeName", nominated);
  checkClaimStatuses(errors, pod);
  checkExtendedClaim(errors, pod);
}
