import { addressFamily, checkLegacyAddress, type LegacyOptions } from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { asTyped, byName, checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { KubernetesVersion } from "../../../features/features.ts";
import type { Container, Pod, PodSpec } from "../../../generated/core/v1.ts";
import { canRestartAll, restartsAfter } from "../../../pod/containers.ts";
import { dnsLabel, dnsSubdomain, qualifiedName } from "../../../values/names.ts";
import { checkPodAnnotationsUpdate } from "./annotations.ts";
import { checkContainerStatuses } from "./container-status.ts";

/**
 * Names in the claim statuses are entries of the spec; what the scheduler made for extended resources is
 * whole.
 */
function checkClaimStatuses(errors: FieldErrors, { spec, status }: Pod): void {
  const known = new Set((spec?.resourceClaims ?? []).map(({ name }) => name));
  const seen = new Set<string>();
  (status?.resourceClaimStatuses ?? []).forEach(({ name = "", resourceClaimName }, index) => {
    const here = errors.at("status.resourceClaimStatuses").index(index);
    if (!known.has(name)) {
      here.at("name").invalid(name, "must match the name of an entry in `spec.resourceClaims`");
    }
    if (resourceClaimName !== undefined) {
      here.at("resourceClaimName").check(dnsSubdomain, resourceClaimName);
    }
    if (seen.has(name)) here.at("name").duplicate(name);
    seen.add(name);
  });
}

function checkExtendedClaim(errors: FieldErrors, { spec, status }: Pod): void {
  const extended = status?.extendedResourceClaimStatus;
  if (!extended) return;
  const here = errors.at("status.extendedResourceClaimStatus");
  const mappings = extended.requestMappings ?? [];
  if (mappings.length === 0) here.at("requestMappings").required("at least one request mapping is required");
  const containers = byName([...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]);
  const seen = new Set<string>();
  mappings.forEach((mapping, index) => {
    const each = here.at("requestMappings").index(index);
    const { containerName = "", resourceName = "", requestName = "" } = mapping;
    const container = containers.get(containerName);
    if (container === undefined) {
      const detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
      each.at("containerName").invalid(containerName, detail);
    } else if (!Object.hasOwn(container.resources?.requests ?? {}, resourceName)) {
      each
        .at("resourceName")
        .invalid(
          resourceName,
          "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests",
        );
    }
    // Upstream's path has no index here.
    here.at("requestName").check(dnsLabel, requestName);
    const key = JSON.stringify([containerName, resourceName, requestName]);
    if (seen.has(key)) {
      each.at("containerName").duplicate(containerName);
      each.at("resourceName").duplicate(resourceName);
      each.at("requestName").duplicate(requestName);
    }
    seen.add(key);
  });
  here.at("resourceClaimName").checkRequired(dnsSubdomain, extended.resourceClaimName);
}

const systemConditions = ["PodScheduled", "Ready", "Initialized"];

function checkConditions(errors: FieldErrors, { status }: Pod): void {
  (status?.conditions ?? []).forEach(({ type = "", observedGeneration = 0 }, index) => {
    const here = errors.at("status.conditions").index(index);
    if (observedGeneration < 0)
      here.at("observedGeneration").invalid(observedGeneration, "must be a non-negative integer");
    if (!systemConditions.includes(type)) here.at("Type").check(qualifiedName, type);
  });
}

const oneOfEach = "may specify no more than one IP for each IP family";

function checkAddresses(errors: FieldErrors, list: readonly { ip?: string }[], options: LegacyOptions): void {
  list.forEach(({ ip = "" }, index) => {
    checkLegacyAddress(errors.index(index), ip, options);
  });
  if (list.length < 2) return;
  const wrong = list.find(({ ip = "" }) => addressFamily(ip) === undefined);
  if (wrong !== undefined) {
    const detail = `failed to check for dual stack with error:invalid IP[${list.indexOf(wrong)}]: ${wrong.ip ?? ""}`;
    errors.internal(detail);
  }
  const families = new Set(list.map(({ ip = "" }) => addressFamily(ip)));
  if (wrong !== undefined || families.size < 2 || list.length > 2) {
    errors.invalid(
      list.map(({ ip = "" }) => ({ IP: ip })),
      oneOfEach,
    );
  }
}

/**
 * A container that has ended does not run again, unless its pod or its own rules restart it (KEP-5307).
 * Upstream: pkg/apis/core/validation/validation.go, ValidateContainerStateTransition and its sisters.
 */
function checkTransitions(errors: FieldErrors, pod: Pod, old: Pod, version: KubernetesVersion): void {
  const spec: Partial<PodSpec> = old.spec ?? {};
  const { containers = [], initContainers = [] } = spec;
  const restartsAll = version >= "1.36" && canRestartAll(spec);
  const check = (field: StatusList, all: readonly Container[]): void => {
    const statuses = byName(pod.status?.[field] ?? []);
    const containersByName = byName(all);
    (old.status?.[field] ?? []).forEach(({ name, state }, index) => {
      const ended = state?.terminated;
      const now = statuses.get(name);
      if (!ended || !now || now.state?.terminated) return;
      const container = containersByName.get(name);
      if (container && restartsAfter(spec, container, ended.exitCode ?? 0)) return;
      errors
        .at("status")
        .at(field)
        .index(index)
        .at("state")
        .forbidden("may not be transitioned to non-terminated state");
    });
  };
  if (!restartsAll) {
    check("containerStatuses", containers);
    check("initContainerStatuses", initContainers);
  }
  check("ephemeralContainerStatuses", []);
}

type StatusList = "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses";

export function checkPodStatus(
  errors: FieldErrors,
  pod: Pod,
  old: Pod,
  { features: { version } }: ValidationContext,
): void {
  checkMetadataUpdate(errors.at("metadata"), pod.metadata, old.metadata);
  checkPodAnnotationsUpdate(errors.at("metadata.annotations"), pod, old);
  checkConditions(errors, pod);
  const nominated = pod.status?.nominatedNodeName;
  if (nominated && nominated !== old.status?.nominatedNodeName) {
    errors.at("status.nominatedNodeName").check(dnsSubdomain, nominated);
    if (old.spec?.nodeName) {
      errors
        .at("status.nominatedNodeName")
        .forbidden("may not be set on pods that are already bound to a node");
    }
  }
  const observed = pod.status?.observedGeneration ?? 0;
  if (observed < 0)
    errors.at("status.observedGeneration").invalid(observed, "must be a non-negative integer");
  const quality = pod.status?.qosClass ?? "";
  checkImmutable(errors.at("status.qosClass"), quality, old.status?.qosClass ?? "", () => asTyped(quality));
  checkTransitions(errors, pod, old, version);
  checkClaimStatuses(errors, pod);
  checkExtendedClaim(errors, pod);
  const addressesOf = (list: readonly { ip?: string }[] | undefined): LegacyOptions => ({
    version,
    before: new Set((list ?? []).map(({ ip = "" }) => ip)),
  });
  checkAddresses(errors.at("status.podIPs"), pod.status?.podIPs ?? [], addressesOf(old.status?.podIPs));
  const hosts = pod.status?.hostIPs ?? [];
  const [first] = hosts;
  if (first && (first.ip ?? "") !== (pod.status?.hostIP ?? ""))
    errors
      .at("status.hostIPs")
      .index(0)
      .at("ip")
      .invalid(first.ip ?? "", "must be equal to `hostIP`");
  checkAddresses(errors.at("status.hostIPs"), hosts, addressesOf(old.status?.hostIPs));
  checkContainerStatuses(errors, pod);
}
