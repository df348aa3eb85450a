import { generatedName, type KubeObject, StatusError } from "@dray/api";
import { dropDisabledFields } from "@dray/api/validation";
import { alreadyExists, serverError } from "../errors/status.ts";
import { convert, converted } from "../kinds/conversion.ts";
import { nameSuffix } from "../kinds/generated-names.ts";
import { modelOf } from "../kinds/models.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { inPieces } from "../request/pieces.ts";
import { deepFreeze, thaw } from "../storage/json.ts";
import { tooLarge } from "../storage/size.ts";
import { WriteContext, type WriteParts } from "./context.ts";
import { ensureNamespace, resetStatus } from "./metadata.ts";
import type { Write } from "./write.ts";

/** Maximum number of names that are generated for one object before giving up. */
const maxAttempts = 8;

/** Creates an object; `draft` is in the served version and may be changed. Throws StatusError. */
export async function create(
  parts: WriteParts,
  write: Write,
  draft: KubeObject,
  ownManagers: boolean,
): Promise<KubeObject> {
  const generated = !draft.metadata.name && !!draft.metadata.generateName;
  for (let attempt = 1; ; attempt++) {
    const copy = generated ? thaw(draft, write.provenance) : draft;
    try {
      return await createOnce(new WriteContext(parts, write), copy, ownManagers);
    } catch (error) {
      const nameExists = StatusError.is(error, "AlreadyExists");
      if (!generated || !nameExists || attempt >= maxAttempts) throw error;
    }
  }
}

/** Upstream: apiserver/pkg/registry/generic/registry/store.go, Store.create */
async function createOnce(
  context: WriteContext,
  draft: KubeObject,
  ownManagers: boolean,
): Promise<KubeObject> {
  const { write, strategy } = context;
  dropServerFields(draft);
  const isRefused = context.willBeTooLarge(draft);
  await write.pause?.();
  if (!ownManagers && !isRefused) await trackFields(context, draft);
  await write.pause?.();
  const object = await mutate(context, draft);
  initialize(context, object);
  await write.pause?.();
  await validate(context, object);
  strategy.complete?.(object);
  await write.pause?.();
  return store(context, object, isRefused);
}

/** Drops fields that only the server sets. */
function dropServerFields({ metadata }: KubeObject): void {
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
}

async function trackFields(
  { parts, write, now, provenance }: WriteContext,
  draft: KubeObject,
): Promise<void> {
  const update = { manager: write.options.fieldManager, subresource: write.subresource, now, provenance };
  await inPieces(write.pause, (step) => parts.managers.created(write.served, draft, { ...update, step }));
}

/** Converts the draft to the stored version and runs mutating admission. */
async function mutate(context: WriteContext, draft: KubeObject): Promise<KubeObject> {
  const { served, namespace } = context.write;
  const object = convert(draft, served, served.stored, context.provenance);
  ensureNamespace(served, namespace, object);
  await context.parts.admission.mutate(context.admissionRequest("CREATE", { object }));
  // A webhook may have changed the namespace.
  ensureNamespace(served, namespace, object);
  return object;
}

/** Sets name, identity and first status of the object. */
function initialize(context: WriteContext, object: KubeObject): void {
  const { served } = context.write;
  const { metadata } = object;
  if (!metadata.name && metadata.generateName) {
    metadata.name = generatedName(metadata.generateName, nameSuffix(context.newId));
  }
  metadata.uid = context.newId();
  metadata.creationTimestamp = context.now;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  if (served.facts.generation && served.facts.generation !== "changed") metadata.generation = 1;
  if (served.facts.status && !served.facts.bringsStatus)
    resetStatus(object, modelOf(served.stored).objectType.zero);
  dropDisabledFields(served.stored, object, undefined, context);
  context.strategy.prepareForCreate?.(object, context);
}

/** Throws 422, or an error of admission. */
async function validate(context: WriteContext, object: KubeObject): Promise<void> {
  const { parts, write, strategy, provenance } = context;
  const { served, subresource, pause } = write;
  const { checks } = parts;
  const errors = await inPieces(pause, (step) =>
    checks.create(served.stored, object, { requestGroup: served.group, provenance, step }),
  );
  const more = await inPieces(pause, (step) => strategy.validateCreate?.(object, context, step) ?? []);
  context.refuse(object, [...errors, ...more]);
  await pause?.();
  context.warnAll(checks.warnings(served.stored, object, undefined, subresource));
  if (subresource === "") context.warnAll(strategy.warnings?.(object, undefined) ?? []);
  context.warnAll(checks.creationWarnings(served, object));
  await pause?.();
  await parts.admission.validate(context.admissionRequest("CREATE", { object }));
}

/** Returns the stored object in the served version. Throws 409 if the name exists. */
async function store(context: WriteContext, object: KubeObject, isRefused: boolean): Promise<KubeObject> {
  const { served, namespace, pause } = context.write;
  const { reader } = context.parts;
  const { metadata } = object;
  const key = reader.key(served, namespace, metadata.name);
  // Only the store checks it (etcd3 Create), and ignores values that are not numbers.
  if (!context.dryRun && /^0*[1-9]\d*$/.test(metadata.resourceVersion ?? ""))
    throw serverError("resourceVersion should not be set on objects to be created");
  const present = reader.cache(served).get(key);
  if (present) throw nameTaken(served, present.object);
  if (isRefused) throw tooLarge();
  if (context.dryRun) return deepFreeze(convert(thaw(object), served.stored, served));
  delete metadata.selfLink;
  const stored = await context.store(key, object, 0);
  if (stored === undefined) throw nameTaken(served, reader.cache(served).get(key)?.object ?? object);
  await pause?.();
  return deepFreeze(await converted(stored.object, served.stored, served));
}

function nameTaken(served: ServedResource, present: KubeObject): StatusError {
  const error = alreadyExists(served, present.metadata.name);
  if (present.metadata.deletionTimestamp === undefined) return error;
  return StatusError.of("AlreadyExists", `object is being deleted: ${error.message}`, error.status.details);
}
