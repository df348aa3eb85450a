import { controllerOf } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { createdPodClaims, hasClaims, isPodTerminal } from "@dray/api/pod";
import { ResourceClaim, type ResourceClaimTemplate } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { keyOf, refOf, type WorkQueue } from "@dray/client";
import {
  consumerOf,
  isForPod,
  isGroupClaim,
  isReservedForPod,
  podGroupName,
} from "../shared/claim-consumers.ts";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { isDone } from "../shared/pods.ts";
import type { ServedResources } from "../shared/served-resources.ts";
import { type ClaimCaches, claimCaches } from "./caches.ts";
import { ClaimGenerator, type ClaimOwner, type ForeignClaim, isOwnedBy } from "./generated-claims.ts";
import { countClaims } from "./metrics.ts";
import { ClaimRelease } from "./release.ts";

/** Maximum number of consumers of a claim (resource/v1 ResourceClaimReservedForMaxSize). */
const maxConsumers = 256;

/**
 * Milliseconds that the garbage collector has to delete the generated claims of a deleted owner: that
 * deletion is what the release of their devices begins with. A release at once would conflict with it.
 */
const collectionTime = 500;

/**
 * Creates claims from the templates that pods and PodGroups name, removes reservations of those that are
 * gone, deallocates claims without consumers, and deletes generated claims of finished pods (KEP-4381,
 * KEP-5729).
 */
export async function startResourceClaimController(
  context: ControllerContext,
  served: ServedResources,
): Promise<Controller> {
  const caches = claimCaches(context, served);
  const { pods, claims, templates, groups } = caches;
  await synced(context, [pods, claims, templates, ...(groups === undefined ? [] : [groups])]);
  context.metrics.gauge("dynamic_resource_allocation_resource_claims", () => countClaims(claims.list()));

  const generator = new ClaimGenerator(context, caches, recorderOf(context, "resource_claim"));
  const release = new ClaimRelease(context, caches);
  const sync = new ClaimSync(context, caches, generator);
  const queues = controllerQueues(context);
  follow(caches, release, {
    pods: queues.queue("resource_claim", (key) => sync.pod(key)),
    groups: queues.queue("resource_claim", (key) => sync.group(key)),
    claims: queues.queue("resource_claim", (key) => release.reconcile(key)),
  });
  return queues.controller;
}

interface Queues {
  readonly pods: WorkQueue;
  readonly groups: WorkQueue;
  readonly claims: WorkQueue;
}

/** Adds what each change concerns. */
function follow(caches: ClaimCaches, released: ClaimRelease, queues: Queues): void {
  const { pods, claims, templates, groups, groupsHaveClaims } = caches;
  /** A consumer that is gone or will not run releases what is reserved for it or was generated for it. */
  function release(consumer: Pod | PodGroup, isDeleted: boolean): void {
    const { uid, namespace } = consumer.metadata;
    const generated = new Set(claims.byIndex("controller", uid).map(({ metadata }) => keyOf(metadata)));
    const used = claims.byIndex("consumer", uid).map(({ metadata }) => keyOf(metadata));
    for (const { name } of createdPodClaims(consumer)) used.push(keyOf({ namespace, name }));
    for (const key of used) if (!generated.has(key)) queues.claims.add(key);
    for (const key of generated) queues.claims.addAfter(key, isDeleted ? collectionTime : 0);
  }
  // Claims for extended resources are released regardless of the gate: they may be older than its setting.
  function podChanged(pod: Pod): void {
    if (!hasClaims(pod)) return;
    if (isDone(pod)) release(pod, false);
    else queues.pods.add(keyOf(pod.metadata));
  }
  function groupChanged(group: PodGroup): void {
    if (groupsHaveClaims && hasClaims(group)) queues.groups.add(keyOf(group.metadata));
    // Its pods wait for it, or for the names in its status.
    pods.byIndex("podGroup", keyOf(group.metadata)).forEach(podChanged);
  }
  function claimChanged(claim: ResourceClaim): void {
    const key = keyOf(claim.metadata);
    queues.claims.add(key);
    pods.byIndex("claim", key).forEach(podChanged);
    if (groups === undefined) return;
    groups.byIndex("claim", key).forEach(groupChanged);
    const owner = controllerOf(claim);
    const group = owner && groups.get({ namespace: claim.metadata.namespace, name: owner.name });
    if (group !== undefined && isOwnedBy(claim, group)) groupChanged(group);
  }
  claims.handle({ add: claimChanged, update: claimChanged, delete: claimChanged });
  pods.handle({
    add: podChanged,
    update: podChanged,
    delete(pod) {
      if (!hasClaims(pod)) return;
      released.noteDeleted(pod.metadata.uid);
      release(pod, true);
    },
  });
  groups?.handle({
    add: groupChanged,
    update: groupChanged,
    delete(group) {
      released.noteDeleted(group.metadata.uid);
      release(group, true);
    },
  });
  const templateChanged = ({ metadata }: ResourceClaimTemplate): void => {
    pods.byIndex("template", keyOf(metadata)).forEach(podChanged);
    groups?.byIndex("template", keyOf(metadata)).forEach(groupChanged);
  };
  templates.handle({ add: templateChanged, update: templateChanged });
}

/** Gives pods and groups their claims. */
class ClaimSync {
  readonly #context: ControllerContext;
  readonly #caches: ClaimCaches;
  readonly #generator: ClaimGenerator;

  constructor(context: ControllerContext, caches: ClaimCaches, generator: ClaimGenerator) {
    this.#context = context;
    this.#caches = caches;
    this.#generator = generator;
  }

  async group(key: string): Promise<void> {
    const { groups, groupKind } = this.#caches;
    const group = groups?.get(refOf(key));
    if (group === undefined || groupKind === undefined) return;
    if (group.metadata.deletionTimestamp !== undefined) return;
    const owner: ClaimOwner = { kind: groupKind, object: group, entryKind: "PodGroupResourceClaim" };
    await this.#generator.generate(owner, (claim) => isOwnedBy(claim, group));
  }

  async pod(key: string): Promise<void> {
    const { pods, groupsHaveClaims, groups } = this.#caches;
    const pod = pods.get(refOf(key));
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return;
    const name = podGroupName(pod);
    const group = name && groups?.get({ namespace: pod.metadata.namespace, name });
    // Reconciled again when the group is created. Without the group, the owner of its claims is unknown.
    if (name && !group) return;
    const owner: ClaimOwner = { kind: Pod, object: pod, entryKind: "PodResourceClaim" };
    const generated = await this.#generator.generate(
      owner,
      (claim) => isForPod(pod, claim, groupsHaveClaims),
      this.#claimOfGroup(owner, group || undefined),
    );
    if (pod.spec.nodeName) await this.#reserve(pod, group || undefined, generated);
  }

  /** The claim of a group has been created: its pods wait for it. */
  #claimOfGroup(pod: ClaimOwner, group: PodGroup | undefined): ForeignClaim {
    return (entry) => {
      if (group === undefined || !isGroupClaim(group, entry)) return undefined;
      if (this.#caches.groupsHaveClaims)
        return { name: this.#generator.existing(group, entry.name)?.metadata.name };
      const why = `claim ${entry.name} is a PodGroup claim but the DRAWorkloadResourceClaims feature is disabled`;
      this.#generator.event(pod, `PodResourceClaim ${entry.name}: ${why}`);
      return { name: undefined };
    };
  }

  /**
   * A pod that was bound without the scheduler is added to claims that are allocated already, or its group
   * is.
   */
  async #reserve(
    pod: Pod,
    group: PodGroup | undefined,
    generated: ReadonlyMap<string, string>,
  ): Promise<void> {
    const { claims, groupsHaveClaims } = this.#caches;
    for (const entry of pod.spec.resourceClaims ?? []) {
      const name = entry.resourceClaimName ?? generated.get(entry.name);
      const claim = name ? claims.get({ namespace: pod.metadata.namespace, name }) : undefined;
      if (claim?.status?.allocation === undefined || claim.metadata.deletionTimestamp !== undefined) continue;
      const reservedFor = claim.status.reservedFor ?? [];
      if (reservedFor.length >= maxConsumers || isReservedForPod(pod, claim, groupsHaveClaims)) continue;
      const isOfGroup = group !== undefined && isGroupClaim(group, entry);
      if (isOfGroup && !groupsHaveClaims) continue;
      const status = { ...claim.status, reservedFor: [...reservedFor, consumerOf(pod, group, entry)] };
      await this.#context.client
        .resource(ResourceClaim)
        .update({ ...claim, status }, { subresource: "status" });
    }
  }
}
