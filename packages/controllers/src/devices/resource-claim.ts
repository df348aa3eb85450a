import { StatusError } from "@dray/api";
import { Pod, type PodResourceClaim } from "@dray/api/core/v1";
import { podClaimName } from "@dray/api/pod";
import { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { hasReached, isNamespaceTerminating, keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, recorderOf, synced } from "../context.ts";
import { controllerOf, controllerReference } from "../owners.ts";
import { isDone } from "../pods.ts";
import { claimNameBase, podClaimAnnotation } from "./claim-names.ts";

/** Keeps an allocated claim until its devices have been given back (resource/v1 Finalizer). */
const deleteProtection = "resource.kubernetes.io/delete-protection";
const fieldManager = "ResourceClaimController";
/** Of so many deleted pods we know for sure that they are gone. */
const remembered = 500;

/**
 * Makes claims from the templates that pods name, drops reservations of pods that are gone, gives back the devices
 * of claims that nobody uses any more, and deletes generated claims of finished pods (KEP-4381).
 */
export async function startResourceClaimController(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const pods = informers.of(Pod);
  const claims = informers.of(ResourceClaim);
  const templates = informers.of(ResourceClaimTemplate);
  const recorder = recorderOf(context, "resource_claim");
  const deletedPods = new Set<string>();
  await synced(context, [pods, claims, templates]);

  const queues = controllerQueues(context);
  const podQueue = queues.queue("resource_claim/pods", reconcilePod);
  const claimQueue = queues.queue("resource_claim/claims", reconcileClaim);

  /** A pod that is gone or will not run releases what is reserved for it or was generated for it. */
  function release(pod: Pod): void {
    const { uid, namespace } = pod.metadata;
    for (const claim of claims.byIndex("consumer", uid)) claimQueue.add(keyOf(claim.metadata));
    for (const claim of claims.byIndex("controller", uid)) claimQueue.add(keyOf(claim.metadata));
    for (const entry of pod.spec.resourceClaims ?? []) {
      const name = podClaimName(pod, entry);
      if (name) claimQueue.add(keyOf({ namespace, name }));
    }
  }

  function usesClaims(pod: Pod): boolean {
    if ((pod.spec.resourceClaims?.length ?? 0) > 0) return true;
    // Claims that the scheduler makes for extended resources are owned and reserved like generated ones.
    return (
      context.features.enabled("DRAExtendedResource") && pod.status?.extendedResourceClaimStatus !== undefined
    );
  }

  function podChanged(pod: Pod): void {
    if (!usesClaims(pod)) return;
    if (isDone(pod)) release(pod);
    else podQueue.add(keyOf(pod.metadata));
  }

  function claimChanged(claim: ResourceClaim): void {
    const key = keyOf(claim.metadata);
    claimQueue.add(key);
    for (const pod of pods.byIndex("claim", key)) podChanged(pod);
  }

  claims.handle({ add: claimChanged, update: claimChanged, delete: claimChanged });
  pods.handle({
    add: podChanged,
    update: podChanged,
    delete(pod) {
      if (!usesClaims(pod)) return;
      if (deletedPods.size >= remembered) deletedPods.delete(deletedPods.values().next().value ?? "");
      deletedPods.add(pod.metadata.uid);
      release(pod);
    },
  });
  const templateChanged = (template: ResourceClaimTemplate): void => {
    for (const pod of pods.byIndex("template", keyOf(template.metadata))) podChanged(pod);
  };
  templates.handle({ add: templateChanged, update: templateChanged });

  async function reconcilePod(key: string): Promise<void> {
    const pod = pods.get(refOf(key));
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isDone(pod)) return;
    const names = new Map<string, string>();
    const made: ResourceClaim[] = [];
    let changed = false;
    try {
      for (const entry of pod.spec.resourceClaims ?? []) {
        const template = entry.resourceClaimTemplateName;
        const recorded = podClaimName(pod, entry);
        if (template === undefined || recorded === null) continue;
        const name = (await usable(pod, recorded)) ?? (await generate(pod, entry, template, made));
        names.set(entry.name, name);
        changed ||= name !== recorded;
      }
      if (changed) {
        // All entries, because those that this manager once applied and now leaves out would vanish.
        const resourceClaimStatuses = [...names].map(([name, resourceClaimName]) => ({
          name,
          resourceClaimName,
        }));
        await client.resource(Pod).apply(
          {
            metadata: { namespace: pod.metadata.namespace, name: pod.metadata.name },
            status: { resourceClaimStatuses },
          },
          { fieldManager, force: true, subresource: "status" },
        );
      }
    } finally {
      // Before this pod comes again the cache must know its claims, or it would get others.
      await Promise.all(made.map((claim) => claims.until(() => hasReached(claims, claim))));
    }
    if (pod.spec.nodeName) await reserve(pod, names);
  }

  /** The recorded claim, unless it has vanished or belongs to someone else. */
  async function usable(pod: Pod, recorded: string | undefined): Promise<string | undefined> {
    if (recorded === undefined) return undefined;
    const ref = { namespace: pod.metadata.namespace, name: recorded };
    let claim = claims.get(ref);
    if (claim === undefined) {
      try {
        // The pod's cache may be ahead of the claims': a second claim would be made for nothing.
        claim = await client.resource(ResourceClaim).get(ref);
      } catch (error) {
        if (!StatusError.is(error, "NotFound")) throw error;
      }
    }
    return claim !== undefined && controllerOf(claim)?.uid === pod.metadata.uid ? recorded : undefined;
  }

  async function generate(
    pod: Pod,
    entry: PodResourceClaim,
    templateName: string,
    made: ResourceClaim[],
  ): Promise<string> {
    // One that was made before its name could be written into the pod's status.
    const existing = claims
      .byIndex("controller", pod.metadata.uid)
      .find((claim) => claim.metadata.annotations?.[podClaimAnnotation] === entry.name);
    if (existing !== undefined) return existing.metadata.name;
    try {
      const template = templates.get({ namespace: pod.metadata.namespace, name: templateName });
      if (template === undefined) {
        throw new Error(
          `resource claim template "${templateName}": resourceclaimtemplate.resource.k8s.io "${templateName}" not found`,
        );
      }
      const { metadata = {}, spec } = template.spec;
      const claim = await client.resource(ResourceClaim).create({
        metadata: {
          namespace: pod.metadata.namespace,
          generateName: claimNameBase(pod.metadata.name, entry.name),
          ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
          annotations: { ...metadata.annotations, [podClaimAnnotation]: entry.name },
          ownerReferences: [controllerReference(Pod, pod)],
        },
        spec,
      });
      made.push(claim);
      return claim.metadata.name;
    } catch (error) {
      // The pod is about to go, too, and nobody would read of it.
      if (isNamespaceTerminating(error)) throw error;
      const message = error instanceof Error ? error.message : String(error);
      const text = error instanceof StatusError ? `create ResourceClaim : ${message}` : message;
      recorder.event(
        pod,
        "Warning",
        "FailedResourceClaimCreation",
        `PodResourceClaim ${entry.name}: ${text}`,
      );
      throw error;
    }
  }

  /** A pod that was bound without the scheduler is added to claims that are allocated already. */
  async function reserve(pod: Pod, generated: ReadonlyMap<string, string>): Promise<void> {
    for (const entry of pod.spec.resourceClaims ?? []) {
      const name = generated.get(entry.name) ?? podClaimName(pod, entry);
      if (!name) continue;
      const claim = claims.get({ namespace: pod.metadata.namespace, name });
      if (claim?.status?.allocation === undefined || claim.metadata.deletionTimestamp !== undefined) continue;
      const reservedFor = claim.status.reservedFor ?? [];
      if (reservedFor.length >= 256 || reservedFor.some(({ uid }) => uid === pod.metadata.uid)) continue;
      const consumer = { resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid };
      await client
        .resource(ResourceClaim)
        .update(
          { ...claim, status: { ...claim.status, reservedFor: [...reservedFor, consumer] } },
          { subresource: "status" },
        );
    }
  }

  async function reconcileClaim(key: string): Promise<void> {
    let claim = claims.get(refOf(key));
    if (claim === undefined) return;
    const reservedFor = claim.status?.reservedFor ?? [];
    const valid: typeof reservedFor = [];
    for (const consumer of reservedFor) if (await stillUses(claim, consumer)) valid.push(consumer);
    const free = valid.length === 0;
    const wasUsed = valid.length < reservedFor.length;
    const protectedClaim = claim.metadata.finalizers?.includes(deleteProtection) === true;
    const deleting = claim.metadata.deletionTimestamp !== undefined;

    // Only what was in use is given back: whoever allocates need not reserve in the same write.
    const giveBack = free && protectedClaim && (wasUsed || deleting);
    if (wasUsed || (giveBack && claim.status?.allocation !== undefined)) {
      const { reservedFor: _, allocation, devices, ...rest } = claim.status ?? {};
      const kept = giveBack
        ? {}
        : {
            ...(allocation === undefined ? {} : { allocation }),
            ...(devices === undefined ? {} : { devices }),
          };
      const status = { ...rest, ...kept, ...(free ? {} : { reservedFor: valid }) };
      // A PUT of the state that was judged, so that it fails if anything has changed since.
      claim = await client.resource(ResourceClaim).update({ ...claim, status }, { subresource: "status" });
    }
    if (giveBack && claim.status?.allocation === undefined) {
      const finalizers =
        claim.metadata.finalizers?.filter((finalizer) => finalizer !== deleteProtection) ?? [];
      claim = await client
        .resource(ResourceClaim)
        .update({ ...claim, metadata: { ...claim.metadata, finalizers } });
    }
    const last = claim;
    if (free && !deleting && generatedForNothing(claim)) {
      await client
        .resource(ResourceClaim)
        .delete(
          { namespace: claim.metadata.namespace, name: claim.metadata.name },
          { preconditions: { uid: claim.metadata.uid } },
        )
        .catch((error) => {
          if (!StatusError.is(error, "NotFound")) throw error;
        });
    }
    // What was written must be seen before this claim is judged again; a claim that is gone never is.
    await claims.until(
      () => claims.get(refOf(key))?.metadata.uid !== last.metadata.uid || hasReached(claims, last),
    );
  }

  async function stillUses(
    claim: ResourceClaim,
    consumer: { apiGroup?: string; resource: string; name: string; uid: string },
  ): Promise<boolean> {
    // Of other consumers (pod groups) nothing is known here: their reservations stay.
    if ((consumer.apiGroup ?? "") !== "" || consumer.resource !== "pods") return true;
    if (deletedPods.has(consumer.uid)) return false;
    const ref = { namespace: claim.metadata.namespace, name: consumer.name };
    const cached = pods.get(ref);
    if (cached !== undefined) return cached.metadata.uid === consumer.uid && !isDone(cached);
    // The cache may not have it yet, and the scheduler may be about to bind it.
    try {
      const pod = await client.resource(Pod).get(ref);
      return pod.metadata.uid === consumer.uid;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return false;
      throw error;
    }
  }

  /** Generated for a pod that is finished or was replaced. If the pod is not there, the garbage collector decides. */
  function generatedForNothing(claim: ResourceClaim): boolean {
    const owner = controllerOf(claim);
    if (owner?.kind !== "Pod" || owner.apiVersion !== "v1") return false;
    const pod = pods.get({ namespace: claim.metadata.namespace, name: owner.name });
    return pod !== undefined && (pod.metadata.uid !== owner.uid || isDone(pod));
  }

  return queues.controller;
}
