import { isDeepStrictEqual } from "node:util";
import { StatusError } from "@dray/api";
import { StatefulSet } from "@dray/api/apps/v1";
import { PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { OwnerReference } from "@dray/api/meta/v1";
import { type Client, type EventRecorder, hasReached, type Informer } from "@dray/client";
import { controllerReference, refersTo } from "../shared/owners.ts";
import { claimNameOf, claimsFor, ordinalsOf, podNameOf } from "./pods.ts";

/**
 * Volume claims of the pods of StatefulSets: made from the templates, and owned as the retention policy says.
 */
export interface StatefulClaims {
  /** Makes those that are missing. Rejects if one cannot be made, or is being deleted. */
  create(set: StatefulSet, ordinal: number): Promise<void>;
  /** A claim of an earlier pod of this name is about to be deleted: the pod must not be made yet. */
  isStale(set: StatefulSet, ordinal: number, pod?: Pod): boolean;
  /** Sets the owners of the claims of a pod; true if one had to be changed. */
  retain(set: StatefulSet, ordinal: number, pod: Pod): Promise<boolean>;
}

export function statefulClaims(
  client: Client,
  claims: Informer<PersistentVolumeClaim>,
  recorder: EventRecorder,
): StatefulClaims {
  const resource = client.resource(PersistentVolumeClaim);

  function existing(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
    const { namespace } = set.metadata;
    return (set.spec.volumeClaimTemplates ?? []).flatMap((template) => {
      const claim = claims.get({ namespace, name: claimNameOf(set, template, ordinal) });
      return claim === undefined ? [] : [claim];
    });
  }

  function report(set: StatefulSet, ordinal: number, name: string, failure?: string): void {
    const pod = podNameOf(set, ordinal);
    const message =
      failure === undefined
        ? `Create Claim ${name} Pod ${pod} in StatefulSet ${set.metadata.name} success`
        : `Create Claim ${name} for Pod ${pod} in StatefulSet ${set.metadata.name} failed error: ${failure}`;
    if (failure === undefined) recorder.event(set, "Normal", "SuccessfulCreate", message);
    else recorder.event(set, "Warning", "FailedCreate", message);
  }

  async function createOne(set: StatefulSet, ordinal: number, claim: ReturnType<typeof claimsFor>[number]) {
    const { namespace, name } = claim.metadata;
    const there = claims.get({ namespace, name });
    if (there !== undefined) {
      if (there.metadata.deletionTimestamp !== undefined) throw new Error(`pvc ${name} is being deleted`);
      return;
    }
    try {
      const made = await resource.create(claim);
      await claims.until(() => hasReached(claims, made));
      report(set, ordinal, name);
    } catch (error) {
      // Made before, and the cache is behind.
      if (StatusError.is(error, "AlreadyExists")) return;
      report(set, ordinal, name, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  return {
    async create(set, ordinal) {
      for (const claim of claimsFor(set, ordinal)) await createOne(set, ordinal, claim);
    },
    isStale(set, ordinal, pod) {
      if (set.spec.persistentVolumeClaimRetentionPolicy?.whenScaled !== "Delete") return false;
      const name = podNameOf(set, ordinal);
      return existing(set, ordinal).some(({ metadata }) =>
        (metadata.ownerReferences ?? []).some(
          (reference) =>
            refersTo(Pod, reference) && reference.name === name && reference.uid !== pod?.metadata.uid,
        ),
      );
    },
    async retain(set, ordinal, pod) {
      let changed = false;
      for (const claim of existing(set, ordinal)) {
        const { references, conflicting } = claimOwners(claim, set, ordinal, pod);
        const { name } = claim.metadata;
        if (conflicting) {
          const message = `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a managing controller, the retention policy is ignored for this claim`;
          recorder.event(set, "Warning", "ConflictingController", message);
        }
        if (references === undefined) continue;
        const updated = await resource.update({
          ...claim,
          metadata: { ...claim.metadata, ownerReferences: references },
        });
        await claims.until(() => hasReached(claims, updated));
        changed = true;
      }
      return changed;
    },
  };
}

/**
 * The owners that a claim should have where they differ from those that it has: the set if its deletion
 * deletes the claim, the pod if scaling down does and the pod is beyond the range. A claim that something
 * else controls, or whose owner of the same name is an earlier one, is left to the garbage collector.
 *
 * Upstream: pkg/controller/statefulset/stateful_set_utils.go, isClaimOwnerUpToDate and
 * updateClaimOwnerRefForSetAndPod.
 */
function claimOwners(
  claim: PersistentVolumeClaim,
  set: StatefulSet,
  ordinal: number,
  pod: Pod,
): { readonly references?: OwnerReference[]; readonly conflicting: boolean } {
  const { whenDeleted, whenScaled } = set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const current = claim.metadata.ownerReferences ?? [];
  const isSet = (reference: OwnerReference): boolean =>
    refersTo(StatefulSet, reference) && reference.name === set.metadata.name;
  const isPod = (reference: OwnerReference): boolean =>
    refersTo(Pod, reference) && reference.name === pod.metadata.name;
  const stale = current.some(
    (reference) =>
      (isSet(reference) && reference.uid !== set.metadata.uid) ||
      (isPod(reference) && reference.uid !== pod.metadata.uid),
  );
  const retains = whenDeleted !== "Delete" && whenScaled !== "Delete";
  const others = current.filter((reference) => !isSet(reference) && !isPod(reference));
  const conflicting = !retains && (stale || others.some(({ controller }) => controller === true));
  if (stale) return { conflicting };
  const wanted = [...others];
  if (!retains && !conflicting) {
    const { start, end } = ordinalsOf(set);
    const scaledDown = ordinal < start || ordinal >= end;
    if (whenScaled === "Delete" && scaledDown) wanted.push(controllerReference(Pod, pod));
    else if (whenDeleted === "Delete") wanted.push(controllerReference(StatefulSet, set));
  }
  const key = ({ uid, controller }: OwnerReference): string => `${uid}/${controller ?? false}`;
  if (isDeepStrictEqual(wanted.map(key).sort(), current.map(key).sort())) return { conflicting };
  return { references: wanted, conflicting };
}
