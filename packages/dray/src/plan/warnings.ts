import { matchesNodeSelector } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { placeText } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { claimNames } from "./claims.ts";
import { isBound, type PlannedPod } from "./plan.ts";

type FindClaim = (namespace: string, name: string) => ResourceClaim | undefined;

/** What Kubernetes accepts of the pods and nobody can have meant, each once for all pods of a workload. */
export function podWarnings(world: World, pods: readonly PlannedPod[], claim: FindClaim): string[] {
  const found = pods.flatMap((planned) => {
    const { pod } = planned;
    return [
      ...containerWarnings(planned, claim),
      ...(planned.running ? boundWarnings(world, pod, claim) : []),
      ...leftOut(planned),
    ].map((text) => `${placeText(planned.place)}: ${planned.origin}: ${text}`);
  });
  return [...new Set([...found, ...extendedResources(world, pods)])];
}

/** Containers and their claims: who names what is not there gets no device, without a word (KEP-4381). */
function containerWarnings({ pod, path }: PlannedPod, claim: FindClaim): string[] {
  const { namespace } = pod.metadata;
  const used = new Set<string>();
  const warnings: string[] = [];
  for (const list of ["initContainers", "containers"] as const) {
    (pod.spec[list] ?? []).forEach((container, i) => {
      (container.resources?.claims ?? []).forEach(({ name: entry, request }, j) => {
        used.add(entry);
        const found = claimNames(pod).find((each) => each.entry === entry);
        const requests = claim(namespace, found?.claim ?? "")?.spec.devices?.requests?.map(
          ({ name }) => name,
        );
        if (request === undefined || requests === undefined || requests.includes(request)) return;
        const at = `${path}.${list}[${i}].resources.claims[${j}].request`;
        const known = requests.length === 0 ? "it has none" : `its requests are ${requests.join(", ")}`;
        const { resourceClaimName, resourceClaimTemplateName } = (pod.spec.resourceClaims ?? []).find(
          ({ name }) => name === entry,
        )!;
        const what =
          request === resourceClaimName
            ? "is the name of the ResourceClaim, not of a request in it"
            : request === resourceClaimTemplateName
              ? "is the name of the ResourceClaimTemplate, not of a request in it"
              : request === entry
                ? "is the pod's name for the claim, not that of a request in it"
                : "is no request of the claim";
        warnings.push(`${at}: "${request}" ${what}: container ${container.name} gets no device; ${known}`);
      });
    });
  }
  (pod.spec.resourceClaims ?? []).forEach(({ name }, i) => {
    if (!used.has(name))
      warnings.push(`${path}.resourceClaims[${i}]: no container names "${name}", so none gets its devices`);
  });
  return warnings;
}

/** The scheduler is not asked about a pod that has a node: claims without devices stay so. */
function boundWarnings(world: World, pod: Pod, claim: FindClaim): string[] {
  const nodeName = pod.spec.nodeName ?? "";
  const node = world.find("Node", nodeName);
  const claims = claimNames(pod).flatMap(({ claim: name }) => {
    const found = claim(pod.metadata.namespace, name);
    const allocation = found?.status?.allocation;
    if (allocation === undefined) {
      return [
        `spec.nodeName: the pod is bound to node ${nodeName}, and nobody will allocate its claim ${name}: the scheduler looks only at pods without a node`,
      ];
    }
    const selector = allocation.nodeSelector;
    if (node === undefined || selector === undefined || matchesNodeSelector(selector, node)) return [];
    return [
      `spec.nodeName: the pod is bound to node ${nodeName}, where the devices of its claim ${name} cannot be used`,
    ];
  });
  if (node !== undefined) return claims;
  return [`spec.nodeName: the pod is bound to node ${nodeName}, which is not among those given`, ...claims];
}

/** What the scheduler of a cluster looks at and this plan does not. */
function leftOut({ pod, path, running }: PlannedPod): string[] {
  if (running) return [];
  const { spec } = pod;
  const hard = (spec.topologySpreadConstraints ?? []).some(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule",
  );
  const volumes = (spec.volumes ?? []).filter(
    ({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim !== undefined || ephemeral !== undefined,
  );
  const other = spec.schedulerName ?? "default-scheduler";
  return [
    ...(hard ? [`${path}.topologySpreadConstraints: not looked at by this plan`] : []),
    ...(volumes.length > 0
      ? [`${path}.volumes: where ${volumes[0]!.name} can be mounted is not looked at`]
      : []),
    ...(other === "default-scheduler"
      ? []
      : [`${path}.schedulerName: ${other} is planned by the rules of the default scheduler`]),
  ];
}

/** Extended resources that a class serves by devices (KEP-5004): no claims are made for them yet. */
function extendedResources(world: World, pods: readonly PlannedPod[]): string[] {
  const classes = new Map(
    world
      .all("DeviceClass")
      .flatMap(({ object: { metadata, spec } }) => [
        [`deviceclass.resource.kubernetes.io/${metadata.name}`, metadata.name] as const,
        ...(spec.extendedResourceName === undefined
          ? []
          : [[spec.extendedResourceName, metadata.name] as const]),
      ]),
  );
  return pods
    .filter(({ pod }) => !isBound(pod))
    .flatMap(({ pod, place, origin, path }) =>
      pod.spec.containers.flatMap(({ name, resources }) =>
        Object.keys(resources?.requests ?? {}).flatMap((resource) => {
          const served = classes.get(resource);
          if (served === undefined) return [];
          return [
            `${placeText(place)}: ${origin}: ${path}.containers: ${name} asks for ${resource}, which DeviceClass ${served} serves: this plan counts only what nodes have of it themselves`,
          ];
        }),
      ),
    );
}
