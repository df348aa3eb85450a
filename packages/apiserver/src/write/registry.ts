import {
  type Features,
  type FieldError,
  generatedName,
  invalid,
  type KubeObject,
  StatusError,
} from "@dray/api";
import { dropDisabledFields } from "@dray/api/validation";
import type { ApiRequest, Clock, UserInfo } from "@dray/client";
import { type Admission, type AdmissionRequest, shownName } from "../admission/admission.ts";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import type { Kind } from "../encoding/codec.ts";
import { alreadyExists, conflict, notFound, serverError, statusObject } from "../errors/status.ts";
import { convert, converted } from "../kinds/conversion/index.ts";
import { nameSuffix } from "../kinds/generated-names.ts";
import { modelOf } from "../kinds/models.ts";
import type { ServedResource, StoredRow } from "../kinds/resources.ts";
import type { Strategy, StrategyContext } from "../kinds/strategy.ts";
import { ObjectReader } from "../read/objects.ts";
import type { Pause } from "../request/large-work.ts";
import type { DeleteOptions, WriteOptions } from "../request/options.ts";
import { inPieces } from "../request/pieces.ts";
import type { Stored } from "../storage/cache.ts";
import { deepFreeze, thaw } from "../storage/json.ts";
import { isTooLarge, tooLarge } from "../storage/size.ts";
import type { Storage } from "../storage/storage.ts";
import { Turns } from "../storage/turns.ts";
import type { Checks } from "./checks.ts";
import { type Course, givenDeletion, planDeletion } from "./deletion.ts";
import type { ManagedFields } from "./managed-fields.ts";
import { countGeneration, ensureNamespace, prepareMetadata, resetStatus, sameObject } from "./metadata.ts";
import { checkIsVersion, checkPreconditions, checkVersion, modified, otherStored } from "./preconditions.ts";

/** One write: who does what to which object. */
export interface Write {
  readonly served: ServedResource;
  readonly subresource: string;
  /** "" for cluster-scoped objects. */
  readonly namespace: string;
  /** "" for a create whose name is in the object. */
  readonly name: string;
  readonly user: UserInfo;
  /** `create`, `update`, `patch`, `delete`. */
  readonly verb: string;
  readonly options: WriteOptions;
  /** One of many that go at once: admission is not told its name. */
  readonly collection?: true;
  /** Admission has had its say about what leads to this write. */
  readonly admitted?: true;
  /** The options as the client gave them, which admission may look at. */
  readonly given?: object;
  /** Adds a text to the Warning headers of the answer. */
  readonly warn?: (text: string) => void;
  /** The request behind it. Its signal ends when the client has gone or the time is over, and is made when it is asked for. */
  readonly sent?: Pick<ApiRequest, "signal">;
  /** Awaited between two steps of work that grows with the object. */
  readonly pause?: Pause;
}

export interface UpdateRules {
  /** Makes the new object of the current one; both in the stored version, the answer is a draft. */
  readonly change: (current: KubeObject | undefined) => KubeObject | Promise<KubeObject>;
  /** PUT: the uid and resourceVersion of the object sent must be those of the stored one. */
  readonly replaces?: boolean;
  /** What is not there is created. */
  readonly mayCreate?: boolean;
  /** Who owns which fields is decided by `change` (server-side apply). */
  readonly ownManagers?: boolean;
  /** Admission and validation are left out: for what the server does on its own behalf. */
  readonly unchecked?: boolean;
  /** The object must not be changed by what comes between its reading and its writing. */
  readonly expectedVersion?: string;
  /** As what admission sees the object, where a subresource speaks another kind than that of its parent (Scale). */
  readonly view?: View;
}

/** Another face of an object. */
export interface View {
  readonly kind: Kind;
  readonly show: (object: KubeObject) => KubeObject;
  /** Puts into the object what has become of what was shown. */
  readonly take: (object: KubeObject, shown: KubeObject) => void;
}

export interface Written {
  readonly object: KubeObject;
  readonly created: boolean;
}

/** What DELETE led to. */
export interface Deletion {
  /** Whether the object is gone; else it stays until its finalizers are done or its grace period is over. */
  readonly gone: boolean;
  /** Its last state, or the one that it now has. */
  readonly object: KubeObject;
  /** The object is the answer, whatever the kind answers otherwise. */
  readonly shown?: true;
}

const attempts = 8;

/** The general life of all objects: create, update, delete, by the rules of Kubernetes and the strategy of each kind. */
export class Registry extends ObjectReader {
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #admission: Admission;
  readonly managers: ManagedFields;
  readonly checks: Checks;
  readonly #turns = new Turns();
  readonly #authorize: (attributes: Attributes) => Decision;
  readonly #strategyOf: (kind: StoredRow) => Strategy;

  constructor(
    storage: Storage,
    features: Features,
    clock: Clock,
    newId: () => string,
    admission: Admission,
    managers: ManagedFields,
    checks: Checks,
    authorize: (attributes: Attributes) => Decision,
    strategyOf: (kind: StoredRow) => Strategy,
  ) {
    super(storage, features, clock);
    this.#clock = clock;
    this.#newId = newId;
    this.#admission = admission;
    this.managers = managers;
    this.checks = checks;
    this.#authorize = authorize;
    this.#strategyOf = strategyOf;
  }

  strategy(served: ServedResource): Strategy {
    return this.#strategyOf(served.stored);
  }

  context(write: Write): StrategyContext {
    return {
      subresource: write.subresource,
      user: write.user,
      verb: write.verb,
      dryRun: write.options.dryRun,
      authorize: this.#authorize,
      features: this.features,
      now: this.now(),
      newId: this.#newId,
      storage: this.storage,
      warn: write.warn ?? (() => {}),
    };
  }

  newId(): string {
    return this.#newId();
  }

  #admissionRequest(
    write: Write,
    operation: AdmissionRequest["operation"],
    objects: Pick<AdmissionRequest, "object" | "old" | "kind">,
  ): AdmissionRequest {
    const { served, subresource, namespace, user, options, given, sent } = write;
    const objectName = write.collection ? "" : write.name || objects.object?.metadata.name || "";
    return {
      operation,
      served,
      subresource,
      namespace,
      name: objectName || shownName(objects.object),
      objectName,
      ...objects,
      user,
      verb: write.verb,
      dryRun: options.dryRun,
      warn: write.warn ?? (() => {}),
      ...(given === undefined || operation === "CONNECT" ? {} : { options: optionsFor(operation, given) }),
      ...(sent === undefined ? {} : { sent }),
    };
  }

  /**
   * Asks admission about what is no write of an object: a subresource that does something, a question, a connection.
   * `object` may be changed by it; `validate` looks at what has become of it. Throws StatusError.
   */
  async admit(
    write: Write,
    operation: "CREATE" | "CONNECT",
    object: KubeObject,
    kind: AdmissionRequest["kind"],
    validate?: () => void,
  ): Promise<void> {
    const request = this.#admissionRequest(write, operation, {
      object,
      ...(kind === undefined ? {} : { kind }),
    });
    await this.#admission.mutate(request);
    validate?.();
    await this.#admission.validate(request);
  }

  /** Creates an object; `draft` is in the served version and may be changed. Throws StatusError. */
  async create(write: Write, draft: KubeObject, ownManagers = false): Promise<KubeObject> {
    const generated = !draft.metadata.name && !!draft.metadata.generateName;
    for (let attempt = 1; ; attempt++) {
      const copy = generated ? thaw(draft) : draft;
      try {
        return await this.#createOnce(write, copy, ownManagers);
      } catch (error) {
        const taken = StatusError.is(error, "AlreadyExists");
        if (!generated || !taken || attempt >= attempts) throw error;
      }
    }
  }

  async #createOnce(write: Write, draft: KubeObject, ownManagers: boolean): Promise<KubeObject> {
    const { served, options } = write;
    const strategy = this.strategy(served);
    const context = this.context(write);
    delete draft.metadata.deletionTimestamp;
    delete draft.metadata.deletionGracePeriodSeconds;
    delete draft.metadata.selfLink;
    const isRefused = willBeTooLarge(write, draft);
    await write.pause?.();
    if (!ownManagers && !isRefused)
      this.managers.created(served, draft, options.fieldManager, write.subresource, context.now);
    await write.pause?.();
    const object = convert(draft, served, served.stored);
    ensureNamespace(served, write.namespace, object);
    const admitted = this.#admissionRequest(write, "CREATE", { object });
    await this.#admission.mutate(admitted);
    // A webhook may have moved it.
    ensureNamespace(served, write.namespace, object);
    const { metadata } = object;
    if (!metadata.name && metadata.generateName) {
      metadata.name = generatedName(metadata.generateName, nameSuffix(this.#newId));
    }
    metadata.uid = this.#newId();
    metadata.creationTimestamp = context.now;
    delete metadata.deletionTimestamp;
    delete metadata.deletionGracePeriodSeconds;
    if (served.facts.generation && served.facts.generation !== "changed") metadata.generation = 1;
    if (served.facts.status && !served.facts.bringsStatus)
      resetStatus(object, modelOf(served.stored).objectType.zero);
    dropDisabledFields(served.stored, object, undefined, this.features);
    strategy.prepareForCreate?.(object, context);
    await write.pause?.();
    const wrong = await inPieces(write.pause, (step) =>
      this.checks.create(served.stored, object, served.group, step),
    );
    this.#refuse(served, object, [...wrong, ...(strategy.validateCreate?.(object, context) ?? [])]);
    this.#warn(write, this.checks.warnings(served.stored, object, undefined, write.subresource));
    if (write.subresource === "") this.#warn(write, strategy.warnings?.(object, undefined) ?? []);
    this.#warn(write, this.checks.creationWarnings(served, object));
    await write.pause?.();
    await this.#admission.validate(this.#admissionRequest(write, "CREATE", { object }));
    strategy.complete?.(object);
    await write.pause?.();
    const key = this.key(served, write.namespace, metadata.name);
    // Only the store looks at it (etcd3 Create), and takes what is no number for none.
    if (!options.dryRun && /^0*[1-9]\d*$/.test(metadata.resourceVersion ?? ""))
      throw serverError("resourceVersion should not be set on objects to be created");
    const present = this.cache(served).get(key);
    if (present) throw this.#taken(served, present.object);
    if (isRefused) throw tooLarge();
    if (options.dryRun) return deepFreeze(convert(thaw(object), served.stored, served));
    delete metadata.selfLink;
    const stored = await this.#put(served, key, object, 0);
    if (stored === undefined) throw this.#taken(served, this.cache(served).get(key)?.object ?? object);
    await write.pause?.();
    return deepFreeze(await converted(stored.object, served.stored, served));
  }

  /** Stores an object, in the version in which its kind is stored. Undefined if another write came between. */
  async #put(
    served: ServedResource,
    key: string,
    object: KubeObject,
    revision: number,
  ): Promise<Stored | undefined> {
    const outside = modelOf(served).conversion;
    const stored = outside === undefined ? object : await outside.toStored(object);
    return this.storage.put(key, stored, revision, this.strategy(served).ttl?.(object));
  }

  #taken(served: ServedResource, present: KubeObject): StatusError {
    const error = alreadyExists(served, present.metadata.name);
    if (present.metadata.deletionTimestamp === undefined) return error;
    return StatusError.of("AlreadyExists", `object is being deleted: ${error.message}`, error.status.details);
  }

  /**
   * Changes an object, again and again until no other write comes between. Answers it in the served version.
   * Throws StatusError.
   */
  update(write: Write, rules: UpdateRules): Promise<Written> {
    const key = this.key(write.served, write.namespace, write.name);
    return this.#inTurn(key, () => this.#update(write, rules, key));
  }

  /**
   * Writers of one object take turns, so that none loses a race again and again; but who waits for a webhook must not
   * keep that webhook from writing.
   */
  #inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#admission.asksOutside() ? work() : this.#turns.run(key, work);
  }

  async #update(write: Write, rules: UpdateRules, key: string): Promise<Written> {
    const { served } = write;
    for (let attempt = 0; attempt < 100; attempt++) {
      const current = this.cache(served).get(key);
      if (current === undefined) {
        if (!rules.mayCreate) throw notFound(served, write.name);
        const draft = await rules.change(undefined);
        const { uid, resourceVersion } = draft.metadata;
        // Another version does no harm: there is nothing that it could be the version of.
        if (rules.replaces && uid) {
          const { dryRun } = write.options;
          throw otherStored(served, write.name, key, dryRun, { field: "UID", sent: uid, stored: "" });
        }
        if (rules.replaces && resourceVersion) checkIsVersion(resourceVersion);
        delete (draft.metadata as { resourceVersion?: string }).resourceVersion;
        const object = await this.create(write, convert(draft, served.stored, served), rules.ownManagers);
        return { object, created: true };
      }
      const written = await this.#updateOnce(write, rules, key, current);
      if (written)
        return { object: deepFreeze(await converted(written, served.stored, served)), created: false };
    }
    throw conflict(served, write.name, "too many writers change this object at the same time");
  }

  async #updateOnce(
    write: Write,
    rules: UpdateRules,
    key: string,
    current: Stored,
  ): Promise<KubeObject | undefined> {
    const { served, options } = write;
    const strategy = this.strategy(served);
    const context = this.context(write);
    const old = await converted(current.object, served.stored, served.stored);
    const object = await rules.change(old);
    const { view } = rules;
    const seen = view ? { object: view.show(object), old: view.show(old), kind: view.kind } : { object, old };
    const admitted = this.#admissionRequest(write, "UPDATE", seen);
    await write.pause?.();
    const isRefused = willBeTooLarge(write, object);
    await write.pause?.();
    if (!rules.ownManagers && !isRefused) {
      this.managers.updated(served, object, old, options.fieldManager, write.subresource, context.now);
    }
    await write.pause?.();
    if (!rules.unchecked) await this.#admission.mutate(admitted);
    view?.take(object, seen.object);
    ensureNamespace(served, write.namespace, object);
    checkVersion(served, rules.replaces === true, object, current, options.dryRun);
    prepareMetadata(served, object, old, write.subresource);
    const { generation } = served.facts;
    if (generation === "sent") countGeneration(served, object, old, write.subresource);
    dropDisabledFields(served.stored, object, old, this.features);
    strategy.prepareForUpdate?.(object, old, context);
    // The scheduler's choice is no change of what the user wants (KEP-5067: generation counts from 1).
    if (generation && generation !== "sent" && write.subresource !== "binding")
      countGeneration(served, object, old, write.subresource);
    await write.pause?.();
    if (!rules.unchecked) {
      const wrong = await inPieces(write.pause, (step) =>
        this.checks.update(served.stored, object, old, write.subresource, served.group, step),
      );
      const problems = [
        ...(strategy.authorizeUpdate?.(object, old, context) ?? []),
        ...wrong,
        ...(strategy.validateUpdate?.(object, old, context) ?? []),
      ];
      this.#warn(write, modelOf(served.stored).tolerated?.(object) ?? []);
      this.#refuse(served, object, problems);
      this.#warn(write, this.checks.warnings(served.stored, object, old, write.subresource));
      if (write.subresource === "") this.#warn(write, strategy.warnings?.(object, old) ?? []);
      await write.pause?.();
      await this.#admission.validate(admitted);
    }
    strategy.complete?.(object);
    await write.pause?.();
    if (sameObject(object, old)) return old;
    const goes =
      object.metadata.deletionTimestamp !== undefined &&
      (object.metadata.finalizers ?? []).length === 0 &&
      (object.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
      !strategy.heldBack?.(object);
    if (options.dryRun) {
      object.metadata.resourceVersion = old.metadata.resourceVersion ?? "";
      return object;
    }
    if (goes) {
      const deleted = await this.storage.delete(key, current.revision);
      if (deleted === undefined) return undefined;
      return { ...object, metadata: { ...object.metadata, resourceVersion: old.metadata.resourceVersion } };
    }
    delete object.metadata.selfLink;
    await write.pause?.();
    if (isRefused) throw tooLarge();
    const stored = await this.#put(served, key, object, current.revision);
    await write.pause?.();
    if (stored) return stored.object;
    if (rules.expectedVersion !== undefined) throw modified(served, write.name);
    return undefined;
  }

  #warn({ warn }: Write, texts: readonly string[]): void {
    for (const text of texts) warn?.(text);
  }

  #refuse(served: ServedResource, object: KubeObject, errors: readonly FieldError[]): void {
    // Messages name the kind as it is stored: an event is one of the core group.
    if (errors.length > 0) throw invalid(served.stored, object.metadata.name, errors);
  }

  /** Deletes an object, or begins to. Throws StatusError. */
  delete(write: Write, options: DeleteOptions): Promise<Deletion> {
    const key = this.key(write.served, write.namespace, write.name);
    return this.#inTurn(key, () => this.#delete(write, options, key));
  }

  async #delete(write: Write, options: DeleteOptions, key: string): Promise<Deletion> {
    const { served } = write;
    const strategy = this.strategy(served);
    const context = this.context(write);
    for (let attempt = 0; attempt < 100; attempt++) {
      const current = this.need(served, write.namespace, write.name);
      const old = modelOf(served).conversion
        ? await converted(current.object, served.stored, served.stored)
        : current.object;
      checkPreconditions(served, options, old);
      const shown = async (result: KubeObject): Promise<KubeObject> =>
        deepFreeze(await converted(result, served.stored, served));
      const object = thaw(old);
      const begun = old.metadata.deletionTimestamp !== undefined;
      if (begun && strategy.heldBack?.(object)) return { gone: false, object: await shown(old) };
      const grace = strategy.gracePeriod?.(object, options, context);
      const ownWay = begun ? undefined : strategy.beginDeletion?.(object, options, context);
      const garbageCollection = strategy.garbageCollection ?? "delete";
      const rules = { grace, garbageCollection, now: this.#clock.now() };
      const course = ownWay ?? planDeletion(object, options, rules);
      if (course === "pending") return { gone: false, object: await shown(old) };
      if (!write.admitted) {
        const { dryRun } = options;
        // In a collection delete, admission sees the client's options only.
        const given = givenDeletion(options, write.collection ? undefined : grace, served, old);
        const deleting = { ...write, subresource: "", options: { ...write.options, dryRun }, given };
        const admitted = this.#admissionRequest(deleting, "DELETE", { old });
        await this.#admission.mutate(admitted);
        await this.#admission.validate(admitted);
      }
      if (options.dryRun) return this.#dryDeletion(served, course, await shown(old), await shown(object));
      let { revision } = current;
      let last = old;
      if (course === "mark" || course === "markAndRemove") {
        if (course === "mark" && sameObject(object, old)) return { gone: false, object: await shown(old) };
        const stored = await this.#put(served, key, object, revision);
        if (stored === undefined) continue;
        if (course === "mark") return { gone: false, object: await shown(stored.object) };
        revision = stored.revision;
        last = stored.object;
      }
      const removed = await this.storage.delete(key, revision);
      if (removed === undefined) continue;
      const metadata = { ...last.metadata, resourceVersion: String(removed) };
      return { gone: true, object: await shown({ ...last, metadata }) };
    }
    throw conflict(served, write.name, "too many writers change this object at the same time");
  }

  /** Upstream answers with what it has at that point: the marked object, or an empty one. */
  #dryDeletion(
    served: ServedResource,
    course: Exclude<Course, "pending">,
    old: KubeObject,
    marked: KubeObject,
  ): Deletion {
    if (course === "mark") return { gone: false, object: marked };
    if (course === "markAndRemove") return { gone: true, object: marked, shown: true };
    if (course === "remove") return { gone: true, object: old };
    const { zero } = modelOf(served.stored).objectType;
    const { apiVersion, kind } = old;
    const empty = { apiVersion, kind, metadata: {}, ...zero } as unknown as KubeObject;
    return { gone: true, object: empty, shown: true };
  }

  /** What DELETE answers for an object that is gone. */
  deletionAnswer(served: ServedResource, object: KubeObject): object {
    if (served.facts.answersDeleted) return object;
    return statusObject({
      status: "Success",
      details: {
        name: object.metadata.name,
        ...(served.group === "" ? {} : { group: served.group }),
        kind: served.resource,
        uid: object.metadata.uid,
      },
    });
  }
}

/** A PUT or PATCH that makes a new object is asked about as one that creates it. */
function optionsFor(operation: AdmissionRequest["operation"], given: object): object {
  return operation === "CREATE" ? { ...given, kind: "CreateOptions" } : given;
}

/**
 * Whether the store is going to refuse a large object. Its managedFields, which nobody will see, are not computed then. A
 * webhook that would make it smaller comes too late.
 */
function willBeTooLarge({ pause, options, served }: Write, object: KubeObject): boolean {
  return pause !== undefined && !options.dryRun && isTooLarge(object, served.facts.schemaless === true);
}
