import { type Kind, type KubeObject, type LabelSelection, type NamespacedMeta, StatusError } from "@dray/api";
import type { Client } from "@dray/client";
import { controllerOf, controllerReference } from "./owners.ts";

type Namespaced = KubeObject & { metadata: NamespacedMeta };

/** An owner, by which objects it manages. */
interface Manager<O extends KubeObject> {
  readonly kind: Kind<O>;
  readonly owner: O;
  readonly selector: LabelSelection;
  /** Set on adopted objects. */
  readonly finalizer?: string;
}

/**
 * The objects that `owner` manages: those that name it as their controller and match its selector. Ones that
 * match and have no controller are adopted, and get the finalizer; ones that it manages but no longer match
 * are let go (apps/v1).
 */
export async function claimObjects<T extends Namespaced, O extends Namespaced>(
  client: Client,
  { kind: owners, owner, selector, finalizer }: Manager<O>,
  kind: Kind<T>,
  candidates: readonly T[],
): Promise<T[]> {
  const managed: T[] = [];
  const alive = owner.metadata.deletionTimestamp === undefined;
  let confirmed: Promise<boolean> | undefined;
  for (const object of candidates) {
    const controller = controllerOf(object);
    const matches = selector.matches(object.metadata.labels);
    if (controller !== undefined) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (matches) managed.push(object);
      else if (alive)
        await setOwners(client, kind, object, { ownerReferences: remaining(object, owner.metadata.uid) });
      continue;
    }
    if (!matches || !alive || object.metadata.deletionTimestamp !== undefined) continue;
    confirmed ??= stillThere(client, owners, owner);
    if (!(await confirmed)) continue;
    const references = [...(object.metadata.ownerReferences ?? []), controllerReference(owners, owner)];
    const others = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    const finalizers = finalizer === undefined ? undefined : [...others, finalizer];
    const adopted = await setOwners(client, kind, object, {
      ownerReferences: references,
      ...(finalizers && { finalizers }),
    });
    if (adopted !== undefined) managed.push(adopted);
  }
  return managed;
}

function remaining(object: KubeObject, uid: string): object[] {
  return (object.metadata.ownerReferences ?? []).filter((reference) => reference.uid !== uid);
}

/** A cache may be behind: an owner that is being deleted must not adopt. */
async function stillThere<O extends Namespaced>(client: Client, kind: Kind<O>, owner: O): Promise<boolean> {
  const { namespace, name, uid } = owner.metadata;
  const live = await client.resource(kind).get({ namespace, name });
  return live.metadata.uid === uid && live.metadata.deletionTimestamp === undefined;
}

async function setOwners<T extends Namespaced>(
  client: Client,
  kind: Kind<T>,
  object: T,
  changes: { readonly ownerReferences: readonly object[]; readonly finalizers?: readonly string[] },
): Promise<T | undefined> {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  try {
    return await client.resource(kind).patch({ namespace, name }, "merge", {
      metadata: { uid, resourceVersion, ...changes },
    });
  } catch (error) {
    if (StatusError.is(error, "NotFound")) return undefined;
    throw error;
  }
}
