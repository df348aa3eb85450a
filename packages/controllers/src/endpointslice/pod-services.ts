import { isDeepStrictEqual } from "node:util";
import { matchLabels } from "@dray/api";
import { Pod, Service } from "@dray/api/core/v1";
import { keyOf } from "@dray/client";
import type { Informers } from "../shared/informers.ts";
import { endpointChanged, hasSelector } from "./pod-endpoint.ts";

/** The pods that the Service selects, by name. */
export function podsOf(informers: Informers, service: Service): readonly Pod[] {
  return informers
    .of(Pod)
    .byIndex("namespace", service.metadata.namespace)
    .filter((pod) => matchLabels(service.spec.selector, pod.metadata.labels))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Keys of the Services that select the pod. */
export function servicesOf(informers: Informers, pod: Pod): string[] {
  return informers
    .of(Service)
    .byIndex("namespace", pod.metadata.namespace)
    .filter((service) => hasSelector(service) && matchLabels(service.spec.selector, pod.metadata.labels))
    .map(({ metadata }) => keyOf(metadata));
}

/**
 * Calls `changed` with the key of each Service whose endpoints may change with a pod.
 * Upstream: k8s.io/endpointslice/util/controller_utils.go, GetServicesToUpdate.
 */
export function followPods(informers: Informers, changed: (service: string) => void): void {
  const all = (pod: Pod): void => servicesOf(informers, pod).forEach(changed);
  informers.of(Pod).handle({
    add: all,
    update(pod, old) {
      const renamed = !isDeepStrictEqual(namesOf(pod), namesOf(old));
      if (!renamed && !endpointChanged(pod, old)) return;
      all(pod);
      if (renamed) all(old);
    },
    delete: all,
  });
}

/** Fields that decide to which Services a pod belongs, and under which name. */
function namesOf({ metadata, spec }: Pod): readonly unknown[] {
  return [metadata.labels, spec.hostname, spec.subdomain];
}
