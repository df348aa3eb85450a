import type { KubeObject } from "@dray/api";
import { dropDisabledFields } from "@dray/api/validation";
import type { AdmissionRequest } from "../admission/admission.ts";
import { conflict, notFound } from "../errors/status.ts";
import { convert, converted } from "../kinds/conversion.ts";
import { modelOf } from "../kinds/models.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { inPieces } from "../request/pieces.ts";
import type { Stored } from "../storage/cache.ts";
import { deepFreeze } from "../storage/json.ts";
import { tooLarge } from "../storage/size.ts";
import { WriteContext, type WriteParts } from "./context.ts";
import { create } from "./create.ts";
import { countGeneration, ensureNamespace, prepareMetadata, sameObject } from "./metadata.ts";
import { checkIsVersion, checkVersion, modified, otherStored } from "./preconditions.ts";
import type { UpdateRules, Write, Written } from "./write.ts";

/** Maximum number of retries after conflicting writes. */
export const maxAttempts = 100;

/** Updates an object; retries after conflicting writes. Returns it in the served version. */
export async function update(
  parts: WriteParts,
  write: Write,
  rules: UpdateRules,
  key: string,
): Promise<Written> {
  const { served } = write;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const current = parts.reader.cache(served).get(key);
    if (current === undefined)
      return { object: await createMissing(parts, write, rules, key), created: true };
    const written = await updateOnce(new WriteContext(parts, write), rules, current);
    if (written)
      return { object: deepFreeze(await converted(written, served.stored, served)), created: false };
  }
  throw conflict(served, write.name, "too many writers change this object at the same time");
}

/** Throws 404 if updates of the kind do not create, 409 if the sent object has a uid. */
async function createMissing(
  parts: WriteParts,
  write: Write,
  rules: UpdateRules,
  key: string,
): Promise<KubeObject> {
  const { served } = write;
  if (rules.createMissing === undefined) throw notFound(served, write.name);
  const draft = await rules.createMissing();
  const { uid, resourceVersion } = draft.metadata;
  // Any version is accepted: there is nothing to compare it to.
  if (rules.replaces && uid) {
    const { dryRun } = write.options;
    throw otherStored({ served, name: write.name, key, dryRun }, { field: "UID", sent: uid, stored: "" });
  }
  if (rules.replaces && resourceVersion) checkIsVersion(resourceVersion);
  delete (draft.metadata as { resourceVersion?: string }).resourceVersion;
  return create(
    parts,
    write,
    convert(draft, served.stored, served, write.provenance),
    rules.ownManagers ?? false,
  );
}

/**
 * Returns the written object in its stored version, undefined if another write came between.
 *
 * Upstream: apiserver/pkg/registry/generic/registry/store.go, Store.Update
 */
async function updateOnce(
  context: WriteContext,
  rules: UpdateRules,
  current: Stored,
): Promise<KubeObject | undefined> {
  const { write, strategy } = context;
  const { served } = write;
  const old = await converted(current.object, served.stored, served.stored);
  const object = await rules.change(old);
  const { view } = rules;
  const shown = view ? { object: view.show(object), old: view.show(old), kind: view.kind } : { object, old };
  const admitted = context.admissionRequest("UPDATE", shown);
  await write.pause?.();
  const isRefused = context.willBeTooLarge(object);
  await write.pause?.();
  if (!rules.ownManagers && !isRefused) await trackFields(context, object, old);
  await write.pause?.();
  if (!rules.unchecked) await context.parts.admission.mutate(admitted);
  view?.take(object, shown.object);
  ensureNamespace(served, write.namespace, object);
  checkVersion(served, object, current, {
    replaces: rules.replaces === true,
    dryRun: context.dryRun,
  });
  prepare(context, object, old);
  await write.pause?.();
  if (!rules.unchecked) await validate(context, object, old, admitted);
  strategy.complete?.(object);
  await write.pause?.();
  if (sameObject(object, old) && isInStoredVersion(served, current)) return old;
  await write.pause?.();
  return store(context, rules, current, { object, old, isRefused });
}

async function trackFields(
  { parts, write, now, provenance }: WriteContext,
  object: KubeObject,
  old: KubeObject,
): Promise<void> {
  const update = { manager: write.options.fieldManager, subresource: write.subresource, now, provenance };
  await inPieces(write.pause, (step) =>
    parts.managers.updated(write.served, object, old, { ...update, step }),
  );
}

/** Restores immutable parts, and counts the generation. */
function prepare(context: WriteContext, object: KubeObject, old: KubeObject): void {
  const { served, subresource } = context.write;
  prepareMetadata(served, object, old, subresource);
  const { generation } = served.facts;
  if (generation === "sent") countGeneration(served, object, old, subresource);
  dropDisabledFields(served.stored, object, old, context);
  context.strategy.prepareForUpdate?.(object, old, context);
  // A binding does not change the desired state (KEP-5067: generation counts from 1).
  if (generation && generation !== "sent" && subresource !== "binding")
    countGeneration(served, object, old, subresource);
}

/** Throws 422, or an error of admission. */
async function validate(
  context: WriteContext,
  object: KubeObject,
  old: KubeObject,
  admitted: AdmissionRequest,
): Promise<void> {
  const { parts, write, strategy, provenance } = context;
  const { served, subresource, pause } = write;
  const { checks } = parts;
  const { errors, tolerated } = await inPieces(pause, (step) =>
    checks.update(served.stored, object, old, {
      subresource,
      requestGroup: served.group,
      provenance,
      step,
    }),
  );
  const unauthorized = strategy.authorizeUpdate?.(object, old, context) ?? [];
  const more = await inPieces(pause, (step) => strategy.validateUpdate?.(object, old, context, step) ?? []);
  const problems = [...unauthorized, ...errors, ...more];
  context.warnAll(tolerated);
  context.refuse(object, problems);
  await pause?.();
  context.warnAll(checks.warnings(served.stored, object, old, subresource));
  if (subresource === "") context.warnAll(strategy.warnings?.(object, old) ?? []);
  await pause?.();
  await parts.admission.validate(admitted);
}

interface PreparedUpdate {
  readonly object: KubeObject;
  readonly old: KubeObject;
  readonly isRefused: boolean;
}

/** Stores the object, or removes it if its deletion was waiting for this update. */
async function store(
  context: WriteContext,
  rules: UpdateRules,
  current: Stored,
  { object, old, isRefused }: PreparedUpdate,
): Promise<KubeObject | undefined> {
  const { served, name, pause } = context.write;
  if (context.dryRun) {
    object.metadata.resourceVersion = old.metadata.resourceVersion ?? "";
    return object;
  }
  if (completesDeletion(context, object)) {
    const removed = await context.remove(current.key, current.object, current.revision);
    if (removed === undefined) return undefined;
    return { ...object, metadata: { ...object.metadata, resourceVersion: old.metadata.resourceVersion } };
  }
  delete object.metadata.selfLink;
  await pause?.();
  if (isRefused) throw tooLarge();
  const stored = await context.store(current.key, object, current.revision);
  await pause?.();
  if (stored) return stored.object;
  if (rules.expectedVersion !== undefined) throw modified(served, name);
  return undefined;
}

/** Reports whether nothing blocks the deletion of the object any more. */
function completesDeletion({ strategy }: WriteContext, object: KubeObject): boolean {
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = object.metadata;
  return (
    deletionTimestamp !== undefined &&
    finalizers.length === 0 &&
    deletionGracePeriodSeconds === 0 &&
    !strategy.heldBack?.(object)
  );
}

/**
 * Reports whether the object would be written in its stored version. One of an older storage version is
 * written even if nothing changes: this is how objects are migrated.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go, GuaranteedUpdate
 */
function isInStoredVersion(served: ServedResource, { object }: Stored): boolean {
  const { storedAs } = modelOf(served);
  return storedAs === undefined || storedAs === object.apiVersion;
}
