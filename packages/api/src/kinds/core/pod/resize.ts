import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, sameValue } from "../../../checks/field.ts";
import { checkMetadataUpdate } from "../../../checks/metadata.ts";
import { minorOf } from "../../../features/features.ts";
import type { Container, Pod, PodSpec, ResourceRequirements } from "../../../generated/core/v1.ts";
import { isSidecar } from "../../../pod/containers.ts";
import { podQosClass } from "../../../pod/qos.ts";
import { checkPod } from "./validation.ts";

const mirror = "kubernetes.io/config.mirror";
const emptySpec: PodSpec = { containers: [] };
/** The minor release since which init containers that are not sidecars can be resized. */
const initSince = 36;
/**
 * The minor release since which the claims of containers may stay at a resize. Upstream before: a container
 * that has claims seems to differ (validation.go, dropCPUMemoryResourcesFromContainer).
 */
const claimsSince = 37;
/** The only minor release that refuses pods whose claims have node-allocatable resources (KEP-5517). */
const refusesNodeAllocatable = 36;
const onlyComputed = "only cpu and memory resources are mutable";

/** Allowed changes of containers. */
interface ResizeRules {
  /** Init containers that are not sidecars too. */
  readonly anyInit: boolean;
  /** Containers with claims. */
  readonly withClaims: boolean;
}

/** A write of `pods/resize` (KEP-1287): nothing but the cpu and memory of containers may differ. */
export function checkPodResize(errors: FieldErrors, pod: Pod, old: Pod, context: ValidationContext): void {
  const refusal = unresizable(old);
  if (refusal !== undefined) {
    errors.key("").forbidden(refusal);
    return;
  }
  checkMetadataUpdate(errors.at("metadata"), pod.metadata, old.metadata);
  checkPod(errors, pod, context);
  const [spec, before] = [pod.spec ?? emptySpec, old.spec ?? emptySpec];
  const quality = podQosClass(pod);
  if ((old.status?.qosClass || podQosClass(old)) !== quality) {
    const detail = "Pod QOS Class may not change as a result of resizing";
    errors.at("spec").invalid(pod.status?.qosClass ?? "", detail);
  }
  const running = old.status?.containerStatuses?.find(({ state }) => state?.running !== undefined);
  if (running !== undefined && running.resources === undefined) {
    errors.at("spec").forbidden("Pod running on node without support for resize");
  }
  if (!checkOrder(errors, spec, before)) return;
  const minor = minorOf(context.features.version);
  if (minor === refusesNodeAllocatable && old.status?.nodeAllocatableResourceClaimStatuses?.length)
    errors.at("spec").forbidden("pods with node allocatable resource claims cannot be resized");
  checkContainers(errors, spec, before, { anyInit: minor >= initSince, withClaims: minor >= claimsSince });
}

function unresizable({ metadata, spec }: Pod): string | undefined {
  if (metadata.annotations?.[mirror] !== undefined) return "static pods cannot be resized";
  return spec?.os?.name === "windows" ? "windows pods cannot be resized" : undefined;
}

function checkOrder(errors: FieldErrors, spec: PodSpec, before: PodSpec): boolean {
  const count = errors.list.length;
  for (const name of ["containers", "initContainers"] as const) {
    const [now, then] = [spec[name] ?? [], before[name] ?? []];
    if (now.length !== then.length) {
      errors.at("spec").at(name).forbidden(`${name} may not be added or removed on resize`);
      continue;
    }
    then.forEach((container, index) => {
      if (now[index]?.name === container.name) return;
      errors
        .at("spec")
        .at(name)
        .index(index)
        .at("name")
        .forbidden(`${name} may not be renamed or reordered on resize`);
    });
  }
  return errors.list.length === count;
}

function checkContainers(errors: FieldErrors, spec: PodSpec, before: PodSpec, rules: ResizeRules): void {
  const { anyInit, withClaims } = rules;
  const init = spec.initContainers ?? [];
  (before.initContainers ?? []).forEach((container, index) => {
    if (anyInit || isSidecar(container))
      checkRemoved(errors.at("spec.initContainers").index(index), init[index]!, container);
  });
  before.containers.forEach((container, index) => {
    checkRemoved(errors.at("spec.containers").index(index), spec.containers[index]!, container);
  });
  before.containers.forEach((container, index) => {
    if (!sameValue(asBefore(spec.containers[index]!, container, withClaims), container))
      errors.at("spec").forbidden(onlyComputed);
  });
  (before.initContainers ?? []).forEach((container, index) => {
    const now = init[index]!;
    const here = errors.at("spec.initContainers").index(index);
    if (sameValue(now, container)) return;
    if (!anyInit && !isSidecar(now)) {
      errors.at("spec").forbidden("resources for non-sidecar init containers are immutable");
      return;
    }
    if (!sameValue(asBefore(now, container, withClaims), container)) {
      here.forbidden("only cpu and memory resources for init or sidecar containers are mutable");
    }
    if (isSidecar(now)) return;
    for (const { restartPolicy } of now.resizePolicy ?? []) {
      if (restartPolicy !== "RestartContainer") continue;
      const detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
      here.forbidden(detail);
    }
  });
}

function checkRemoved(errors: FieldErrors, now: Container, before: Container): void {
  for (const name of ["requests", "limits"] as const) {
    const left = now.resources?.[name] ?? {};
    const gone = Object.keys(before.resources?.[name] ?? {}).some(
      (resource) => !Object.hasOwn(left, resource),
    );
    if (gone) errors.at("resources").at(name).forbidden(`resource ${name} cannot be removed`);
  }
}

/** The container with the cpu and memory that it had; without its claims unless they may stay. */
function asBefore(container: Container, before: Container, withClaims: boolean): Container {
  const lists = (["limits", "requests"] as const).map((name) => {
    const list = { ...container.resources?.[name] };
    for (const resource of ["cpu", "memory"]) {
      const then = before.resources?.[name]?.[resource];
      if (then === undefined) delete list[resource];
      else list[resource] = then;
    }
    return [name, list] as const;
  });
  const filled = lists.filter(([, list]) => Object.keys(list).length > 0);
  const claims = withClaims ? container.resources?.claims : undefined;
  const resources: ResourceRequirements = Object.fromEntries(filled);
  return { ...container, resources: { ...resources, ...(claims !== undefined && { claims }) } };
}
