import type { KubeObject } from "@dray/api";
import { conflict } from "../errors/status.ts";
import { converted } from "../kinds/conversion.ts";
import { modelOf } from "../kinds/models.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { DeleteOptions } from "../request/options.ts";
import type { Stored } from "../storage/cache.ts";
import { deepFreeze, thaw } from "../storage/json.ts";
import { admissionRequest, WriteContext, type WriteParts } from "./context.ts";
import { admissionDeleteOptions, type DeletionAction, planDeletion } from "./deletion.ts";
import { sameObject } from "./metadata.ts";
import { checkPreconditions } from "./preconditions.ts";
import { maxAttempts } from "./update.ts";
import type { Deletion, Write } from "./write.ts";

/** Deletes an object, or begins to; retries after conflicting writes. */
export async function deleteObject(
  parts: WriteParts,
  write: Write,
  options: DeleteOptions,
): Promise<Deletion> {
  const { served, namespace, name } = write;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const current = parts.reader.need(served, namespace, name);
    const deletion = await deleteOnce(new WriteContext(parts, write), options, current);
    if (deletion !== undefined) return deletion;
  }
  throw conflict(served, name, "too many writers change this object at the same time");
}

/** The planned effect of a DELETE. */
interface Plan {
  readonly action: DeletionAction;
  /** The stored object. */
  readonly old: KubeObject;
  /** The object with its deletion fields set. */
  readonly object: KubeObject;
  /** Grace period in seconds of a kind that is deleted gracefully. */
  readonly grace: number | undefined;
}

/**
 * Undefined if another write came between.
 *
 * Upstream: apiserver/pkg/registry/generic/registry/store.go, Store.Delete
 */
async function deleteOnce(
  context: WriteContext,
  options: DeleteOptions,
  current: Stored,
): Promise<Deletion | undefined> {
  const { served, admitted } = context.write;
  const old = modelOf(served).conversion
    ? await converted(current.object, served.stored, served.stored)
    : current.object;
  checkPreconditions(served, options, old);
  const plan = planOf(context, options, old);
  if (plan.action === "pending") return { isRemoved: false, object: await shown(served, old) };
  if (!admitted) await admit(context, options, plan);
  if (options.dryRun) {
    return dryRunResult(served, plan.action, await shown(served, old), await shown(served, plan.object));
  }
  return execute(context, plan, current);
}

function planOf(context: WriteContext, options: DeleteOptions, old: KubeObject): Plan {
  const { strategy, parts } = context;
  const object = thaw(old);
  const hasBegun = old.metadata.deletionTimestamp !== undefined;
  if (hasBegun && strategy.heldBack?.(object)) return { action: "pending", old, object, grace: undefined };
  const grace = strategy.gracePeriod?.(object, options, context);
  const own = hasBegun ? undefined : strategy.beginDeletion?.(object, options, context);
  const garbageCollection = strategy.garbageCollection ?? "delete";
  const action = own ?? planDeletion(object, options, { grace, garbageCollection, now: parts.reader.time() });
  return { action, old, object, grace };
}

async function admit(context: WriteContext, options: DeleteOptions, { old, grace }: Plan): Promise<void> {
  const { write, parts } = context;
  const { dryRun } = options;
  // In a collection delete, admission sees the client's options only.
  const clientOptions = admissionDeleteOptions(
    options,
    write.collection ? undefined : grace,
    write.served,
    old,
  );
  const deleting = { ...write, subresource: "", options: { ...write.options, dryRun }, clientOptions };
  const request = admissionRequest(deleting, "DELETE", { old });
  await parts.admission.mutate(request);
  await parts.admission.validate(request);
}

/** Stores the marked object, removes it, or both. Undefined if another write came between. */
async function execute(
  context: WriteContext,
  { action, old, object }: Plan,
  current: Stored,
): Promise<Deletion | undefined> {
  const { served } = context.write;
  let { revision } = current;
  let last = old;
  if (action === "mark" || action === "markAndRemove") {
    if (action === "mark" && sameObject(object, old))
      return { isRemoved: false, object: await shown(served, old) };
    const stored = await context.store(current.key, object, revision);
    if (stored === undefined) return undefined;
    if (action === "mark") return { isRemoved: false, object: await shown(served, stored.object) };
    revision = stored.revision;
    last = stored.object;
  }
  const removed = await context.remove(current.key, last, revision);
  if (removed === undefined) return undefined;
  const metadata = { ...last.metadata, resourceVersion: String(removed) };
  return { isRemoved: true, object: await shown(served, { ...last, metadata }) };
}

/** Returns an object in the served version. */
async function shown(served: ServedResource, object: KubeObject): Promise<KubeObject> {
  return deepFreeze(await converted(object, served.stored, served));
}

/** Returns the object of a dry run, as upstream: the marked object, or an empty one. */
function dryRunResult(
  served: ServedResource,
  action: Exclude<DeletionAction, "pending">,
  old: KubeObject,
  marked: KubeObject,
): Deletion {
  if (action === "mark") return { isRemoved: false, object: marked };
  if (action === "markAndRemove") return { isRemoved: true, object: marked, shown: true };
  if (action === "remove") return { isRemoved: true, object: old };
  const { zero } = modelOf(served.stored).objectType;
  const { apiVersion, kind } = old;
  // Kubernetes shows it without a name, which KubeObject demands.
  const empty = { apiVersion, kind, metadata: {}, ...zero } as unknown as KubeObject;
  return { isRemoved: true, object: empty, shown: true };
}
