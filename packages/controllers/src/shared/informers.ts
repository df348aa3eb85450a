import type { Kind, KubeObject } from "@dray/api";
import { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import { Lease } from "@dray/api/coordination/v1";
import {
  ConfigMap,
  Namespace,
  Node,
  Pod,
  ReplicationController,
  Secret,
  Service,
  ServiceAccount,
} from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { createdPodClaims } from "@dray/api/pod";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { PodGroup, Workload } from "@dray/api/scheduling/v1beta1";
import { type Client, type Informer, type InformerOptions, keyOf } from "@dray/client";
import { podGroupName } from "./claim-consumers.ts";
import { serviceNameLabel } from "./labels.ts";
import { controllerOf } from "./owners.ts";
import { poolKey } from "./pools.ts";

/** The caches that controllers share: one for each kind, with the indexes that any of them needs. */
export interface Informers {
  of<T extends KubeObject>(kind: Kind<T>): Informer<T>;
  /** Drops the cache of a kind that the server no longer serves; `of` creates a new one. */
  forget(kind: Kind): void;
}

const byController = { controller: (object: KubeObject) => list(controllerOf(object)?.uid) };

/** Keys of the claims of a pod or a group that have been created. */
const claimKeys = (consumer: Pod | PodGroup): string[] =>
  createdPodClaims(consumer).map(({ name }) => keyOf({ namespace: consumer.metadata.namespace, name }));

function list(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

/**
 * Options by group and resource. Index `controller` finds objects by the uid of the owner that manages them;
 * `node` pods by the name of their node; `claim` and `template` pods and groups by the key of a claim or
 * template that they name; `podGroup` pods by the key of their group; `consumer` claims by the uid of whom
 * they are reserved for; `pool` claims by `driver/pool` of their devices; `namespace` by namespace; `service`
 * EndpointSlices by the key of their Service; `account` Secrets by the key of the service account that they
 * name.
 */
const options: Readonly<Record<string, InformerOptions<never>>> = {
  [key(Pod)]: {
    indexes: {
      ...byController,
      namespace: (pod: Pod) => [pod.metadata.namespace],
      node: (pod: Pod) => list(pod.spec.nodeName || undefined),
      podGroup: (pod: Pod) =>
        list(podGroupName(pod)).map((name) => keyOf({ namespace: pod.metadata.namespace, name })),
      claim: claimKeys,
      template: (pod: Pod) =>
        (pod.spec.resourceClaims ?? []).flatMap((entry) =>
          entry.resourceClaimTemplateName === undefined
            ? []
            : [keyOf({ namespace: pod.metadata.namespace, name: entry.resourceClaimTemplateName })],
        ),
    },
  } satisfies InformerOptions<Pod>,
  [key(ResourceClaim)]: {
    indexes: {
      ...byController,
      consumer: (claim: ResourceClaim) => (claim.status?.reservedFor ?? []).map((consumer) => consumer.uid),
      pool: (claim: ResourceClaim) => [
        ...new Set(
          (claim.status?.allocation?.devices?.results ?? []).map(({ driver, pool }) => poolKey(driver, pool)),
        ),
      ],
    },
  } satisfies InformerOptions<ResourceClaim>,
  [key(ReplicaSet)]: {
    indexes: { ...byController, namespace: (set: ReplicaSet) => [set.metadata.namespace] },
  } satisfies InformerOptions<ReplicaSet>,
  [key(DaemonSet)]: {
    indexes: { namespace: (set: DaemonSet) => [set.metadata.namespace] },
  } satisfies InformerOptions<DaemonSet>,
  [key(Deployment)]: {
    indexes: { namespace: (deployment: Deployment) => [deployment.metadata.namespace] },
  } satisfies InformerOptions<Deployment>,
  [key(ControllerRevision)]: {
    indexes: { ...byController, namespace: (revision: ControllerRevision) => [revision.metadata.namespace] },
  } satisfies InformerOptions<ControllerRevision>,
  [key(ReplicationController)]: {
    indexes: { namespace: (owner: ReplicationController) => [owner.metadata.namespace] },
  } satisfies InformerOptions<ReplicationController>,
  [key(StatefulSet)]: {
    indexes: { namespace: (set: StatefulSet) => [set.metadata.namespace] },
  } satisfies InformerOptions<StatefulSet>,
  [key(Job)]: {
    indexes: { ...byController, namespace: (job: Job) => [job.metadata.namespace] },
  } satisfies InformerOptions<Job>,
  [key(PodDisruptionBudget)]: {
    indexes: { namespace: (budget: PodDisruptionBudget) => [budget.metadata.namespace] },
  } satisfies InformerOptions<PodDisruptionBudget>,
  [key(EndpointSlice)]: {
    indexes: {
      service: ({ metadata }: EndpointSlice) => {
        const name = metadata.labels?.[serviceNameLabel];
        return name ? [keyOf({ namespace: metadata.namespace, name })] : [];
      },
    },
  } satisfies InformerOptions<EndpointSlice>,
  [key(Service)]: {
    indexes: { namespace: (service: Service) => [service.metadata.namespace] },
  } satisfies InformerOptions<Service>,
  [key(Workload)]: { indexes: byController } satisfies InformerOptions<Workload>,
  [key(PodGroup)]: {
    indexes: {
      ...byController,
      claim: claimKeys,
      template: (group: PodGroup) =>
        (group.spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) =>
          name === undefined ? [] : [keyOf({ namespace: group.metadata.namespace, name })],
        ),
    },
  } satisfies InformerOptions<PodGroup>,
  [key(Secret)]: {
    indexes: {
      account: ({ metadata }: Secret) => {
        const name = metadata.annotations?.["kubernetes.io/service-account.name"];
        return name ? [keyOf({ namespace: metadata.namespace, name })] : [];
      },
    },
  } satisfies InformerOptions<Secret>,
  [key(ConfigMap)]: {},
  [key(Lease)]: {},
  [key(Namespace)]: {},
  [key(Node)]: {},
  [key(ResourceClaimTemplate)]: {},
  [key(ServiceAccount)]: {},
};

/** Options for kinds without an index: the garbage collector also follows deprecated ones. */
const followed: InformerOptions<never> = { ignoreWarnings: true };

function key(kind: Kind): string {
  return `${kind.group}/${kind.resource}`;
}

/** Makes informers when they are first asked for; they begin to follow when they are started. */
export function createInformers(client: Client): Informers {
  /** By kind, the informer of that kind. */
  const made = new Map<string, unknown>();
  return {
    of<T extends KubeObject>(kind: Kind<T>): Informer<T> {
      const found = made.get(key(kind));
      if (found !== undefined) return found as Informer<T>;
      const informer = client.informer<T>(kind, (options[key(kind)] ?? followed) as InformerOptions<T>);
      made.set(key(kind), informer);
      return informer;
    },
    forget(kind) {
      made.delete(key(kind));
    },
  };
}
