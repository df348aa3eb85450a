import { isDeepStrictEqual } from "node:util";
import { canonicalJSON, decodeJSON, type Kind, StatusError } from "@dray/api";
import { ControllerRevision, type DaemonSet, type StatefulSet } from "@dray/api/apps/v1";
import { type Client, hasReached, type Informer } from "@dray/client";
import { nameHash } from "../shared/name-hash.ts";
import { controllerOf, controllerReference } from "../shared/owners.ts";
import { refTo } from "../shared/status.ts";

/** The label by which a pod says which revision it was made from. */
export const revisionHash = "controller-revision-hash";

type Revised = DaemonSet | StatefulSet;

/** The templates that a workload has had. */
export interface Revisions {
  readonly current: ControllerRevision;
  readonly olds: readonly ControllerRevision[];
}

export interface RevisionOptions<O extends Revised> {
  readonly client: Client;
  readonly informer: Informer<ControllerRevision>;
  readonly kind: Kind<O>;
  /** The label of a revision that has its hash. */
  readonly hashLabel: string;
}

/**
 * The revision of the current template, made or renumbered if need be. Undefined: its name is taken, count
 * up.
 */
export async function syncRevisions<O extends Revised>(
  { client, informer, kind, hashLabel }: RevisionOptions<O>,
  set: O,
  managed: readonly ControllerRevision[],
): Promise<Revisions | undefined> {
  const data = revisionData(set);
  const newest = managed.reduce((most, { revision }) => Math.max(most, Number(revision ?? 0)), 0);
  const same = managed.filter((revision) => isDeepStrictEqual(revision.data, data));
  const found = same.sort((a, b) => Number(b.revision ?? 0) - Number(a.revision ?? 0))[0];
  const olds = managed.filter((revision) => revision !== found);
  const resource = client.resource(ControllerRevision);
  if (found !== undefined) {
    if (Number(found.revision) === newest) return { current: found, olds };
    const current = await resource.update({ ...found, revision: newest + 1 });
    await informer.until(() => hasReached(informer, current));
    return { current, olds };
  }
  const hash = nameHash(set.spec.template, set.status?.collisionCount);
  const { annotations } = set.metadata;
  const ref = { namespace: set.metadata.namespace, name: `${set.metadata.name}-${hash}` };
  try {
    const current = await resource.create({
      metadata: {
        ...ref,
        labels: { ...set.spec.template.metadata?.labels, [hashLabel]: hash },
        // `kubectl rollout history` shows the cause of the change that stands there.
        ...(annotations === undefined ? {} : { annotations }),
        ownerReferences: [controllerReference(kind, set)],
      },
      data,
      revision: newest + 1,
    });
    await informer.until(() => hasReached(informer, current));
    return { current, olds };
  } catch (error) {
    if (!StatusError.is(error, "AlreadyExists")) throw error;
    const there = await resource.get(ref);
    if (controllerOf(there)?.uid !== set.metadata.uid || !isDeepStrictEqual(there.data, data))
      return undefined;
    return { current: there, olds };
  }
}

/**
 * Returns the patch that `kubectl rollout undo` applies. Clients compare its bytes, so its keys are sorted as
 * Go writes a map.
 *
 * Upstream: pkg/controller/daemon/update.go, getPatch
 */
function revisionData({ spec }: Revised): NonNullable<ControllerRevision["data"]> {
  const patch = { spec: { template: { ...spec.template, $patch: "replace" } } };
  // A copy of what stands above.
  return decodeJSON(canonicalJSON(patch)) as NonNullable<ControllerRevision["data"]>;
}

/** Deletes the oldest of the revisions that nothing uses. */
export async function forgetRevisions(
  client: Client,
  unused: readonly ControllerRevision[],
  count: number,
): Promise<void> {
  const oldestFirst = [...unused].sort((a, b) => Number(a.revision ?? 0) - Number(b.revision ?? 0));
  for (const revision of oldestFirst.slice(0, Math.max(0, count))) {
    try {
      await client.resource(ControllerRevision).delete(refTo(revision));
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }
}
