import { matchesNodeSelector } from "@dray/api";
import { createdPodClaims } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { placeText } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { names } from "../text/words.ts";
import type { PlannedPod, PlanOptions } from "./plan.ts";
import { isBound } from "./units.ts";

const defaultScheduler = "default-scheduler";

type FindClaim = (namespace: string, name: string) => ResourceClaim | undefined;

/** A suspicious field of a pod. */
interface FieldRemark {
  readonly path: string;
  readonly text: string;
}

/** Returns accepted settings of pods that are probably mistakes, each once for all pods of a workload. */
export function podWarnings(
  world: World,
  pods: readonly PlannedPod[],
  claim: FindClaim,
  { features, configuration }: Pick<PlanOptions, "features" | "configuration">,
): string[] {
  const found = new Map<string, PlannedPod & FieldRemark>();
  const withExtended = features.enabled("DRAExtendedResource");
  const schedulers = configuration?.profiles.map(({ schedulerName }) => schedulerName) ?? [defaultScheduler];
  const classes = withExtended ? new Map<string, string>() : classesByResource(world);
  for (const planned of pods) {
    const { pod, place, origin } = planned;
    const remarks = [
      ...containerWarnings(planned, claim),
      ...(isBound(pod) ? boundWarnings(world, planned, claim) : leftOut(planned, schedulers)),
      ...(isBound(pod) ? [] : extendedResources(classes, planned)),
    ];
    for (const { path, text } of remarks) {
      const key = [place.source.file, place.document, place.root, origin, path, text].join(" ");
      if (!found.has(key)) found.set(key, { ...planned, path, text });
    }
  }
  return [...found.values()].map(
    ({ place, origin, path, text }) => `${placeText(place, path)}: ${origin}: ${path}: ${text}`,
  );
}

/** Checks containers and their claims: a missing name gives no device, without an error (KEP-4381). */
function containerWarnings({ pod, path }: Pick<PlannedPod, "pod" | "path">, claim: FindClaim): FieldRemark[] {
  const { namespace } = pod.metadata;
  const used = new Set<string>();
  const warnings: FieldRemark[] = [];
  for (const list of ["initContainers", "containers"] as const) {
    (pod.spec[list] ?? []).forEach((container, i) => {
      (container.resources?.claims ?? []).forEach(({ name: entry, request }, j) => {
        used.add(entry);
        const found = createdPodClaims(pod).find((each) => each.entry?.name === entry);
        const requests = claim(namespace, found?.name ?? "")?.spec.devices?.requests?.map(({ name }) => name);
        if (found === undefined || request === undefined || requests === undefined) return;
        if (requests.includes(request)) return;
        const at = `${path}.${list}[${i}].resources.claims[${j}].request`;
        const known = requests.length === 0 ? "it has none" : `its requests are ${requests.join(", ")}`;
        const { resourceClaimName, resourceClaimTemplateName } = found.entry ?? {};
        const what =
          request === resourceClaimName
            ? "is the name of the ResourceClaim, not of a request in it"
            : request === resourceClaimTemplateName
              ? "is the name of the ResourceClaimTemplate, not of a request in it"
              : request === entry
                ? "is the pod's name for the claim, not that of a request in it"
                : "is no request of the claim";
        const text = `"${request}" ${what}: container ${container.name} gets no device; ${known}`;
        warnings.push({ path: at, text });
      });
    });
  }
  (pod.spec.resourceClaims ?? []).forEach(({ name }, i) => {
    if (used.has(name)) return;
    const text = `no container names "${name}": its devices are prepared for the pod, and no container gets them`;
    warnings.push({ path: `${path}.resourceClaims[${i}]`, text });
  });
  return warnings;
}

/** The scheduler ignores a pod with a node: its claims never get devices. */
function boundWarnings(world: World, { pod, hints }: PlannedPod, claim: FindClaim): FieldRemark[] {
  const nodeName = pod.spec.nodeName ?? "";
  const path = "spec.nodeName";
  const node = world.find("Node", nodeName);
  const claims = createdPodClaims(pod).flatMap(({ name }) => {
    const found = claim(pod.metadata.namespace, name);
    if (found === undefined) return [];
    const { allocation } = found.status ?? {};
    if (allocation === undefined) {
      const why = "the scheduler looks only at pods without a node";
      const text = `the pod is bound to node ${nodeName}, so its claim ${name} will not be allocated: ${why}`;
      return [{ path, text }];
    }
    const selector = allocation.nodeSelector;
    if (node === undefined || selector === undefined || matchesNodeSelector(selector, node)) return [];
    const text = `the pod is bound to node ${nodeName}, where the devices of its claim ${name} cannot be used`;
    return [{ path, text }];
  });
  // Missing references; the row of a waiting pod has them already.
  const missing = hints.map((hint) => {
    const [, at = path, text = hint] = /^(\S+): (.*)$/s.exec(hint) ?? [];
    return { path: at, text };
  });
  const gone = { path, text: `the pod is bound to node ${nodeName}, which is not among those given` };
  return [...(node === undefined ? [gone] : []), ...claims, ...missing];
}

/** Finds input of a cluster's scheduler that this plan ignores. */
function leftOut({ pod, path }: PlannedPod, schedulers: readonly string[]): FieldRemark[] {
  const { spec } = pod;
  const volume = (spec.volumes ?? []).find(
    ({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim !== undefined || ephemeral !== undefined,
  );
  const other = spec.schedulerName ?? defaultScheduler;
  const rules = schedulers.includes(defaultScheduler) ? "the default scheduler" : `profile ${schedulers[0]}`;
  const known = schedulers.length === 1 ? "" : ` (profiles: ${names(schedulers)})`;
  const remarks: [condition: boolean, field: string, text: string][] = [
    [volume !== undefined, "volumes", `where ${volume?.name} can be mounted is not looked at`],
    [!schedulers.includes(other), "schedulerName", `${other} is planned by the rules of ${rules}${known}`],
  ];
  return remarks
    .filter(([condition]) => condition)
    .map(([, field, text]) => ({ path: `${path}.${field}`, text }));
}

/** Returns the classes that serve extended resources (KEP-5004), by resource. */
function classesByResource(world: World): ReadonlyMap<string, string> {
  return new Map(
    world.all("DeviceClass").flatMap(({ object: { metadata, spec } }) => {
      const implicit = [`deviceclass.resource.kubernetes.io/${metadata.name}`, metadata.name] as const;
      const { extendedResourceName: named } = spec;
      return named === undefined ? [implicit] : [implicit, [named, metadata.name] as const];
    }),
  );
}

/** Finds extended resources that a class would serve with devices (KEP-5004), if the release supported it. */
function extendedResources(classes: ReadonlyMap<string, string>, { pod, path }: PlannedPod): FieldRemark[] {
  return pod.spec.containers.flatMap(({ name, resources }) =>
    Object.keys(resources?.requests ?? {}).flatMap((resource) => {
      const served = classes.get(resource);
      if (served === undefined) return [];
      const text = `${name} asks for ${resource}, which DeviceClass ${served} serves only with the feature gate DRAExtendedResource: only what nodes have of it themselves counts`;
      return [{ path: `${path}.containers`, text }];
    }),
  );
}
