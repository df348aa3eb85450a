import { type Features, type FieldError, invalid, type KubeObject, type Provenance } from "@dray/api";
import type { UserInfo } from "@dray/client";
import { type Admission, type AdmissionRequest, shownName } from "../admission/admission.ts";
import type { Attributes, Decision } from "../authorization/attributes.ts";
import { modelOf } from "../kinds/models.ts";
import type { StoredRow } from "../kinds/resources.ts";
import type { ChosenValues, Reservation, Strategy, StrategyContext } from "../kinds/strategy.ts";
import type { ObjectReader } from "../read/objects.ts";
import type { Stored } from "../storage/cache.ts";
import { isTooLarge } from "../storage/size.ts";
import type { Storage } from "../storage/storage.ts";
import type { Checks } from "./checks.ts";
import type { ManagedFields } from "./managed-fields.ts";
import type { Write } from "./write.ts";

/** Dependencies that all writes share. */
export interface WriteParts {
  readonly reader: ObjectReader;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly admission: Admission;
  readonly managers: ManagedFields;
  readonly checks: Checks;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly strategyOf: (kind: StoredRow) => Strategy;
}

type Operation = AdmissionRequest["operation"];
type AdmittedObjects = Pick<AdmissionRequest, "object" | "old" | "kind">;

const ignoreWarning = (): void => {};

/** One attempt of one write, in the steps of `create.ts`, `update.ts` or `delete.ts`. */
export class WriteContext implements StrategyContext {
  readonly parts: WriteParts;
  readonly write: Write;
  readonly strategy: Strategy;
  readonly subresource: string;
  readonly user: UserInfo;
  readonly verb: string;
  readonly dryRun: boolean;
  readonly authorize: (attributes: Attributes) => Decision;
  readonly features: Features;
  readonly provenance: Provenance;
  readonly chosen: ChosenValues = { addresses: new Set(), ports: new Set() };
  readonly now: string;
  readonly newId: () => string;
  readonly storage: Storage;
  readonly warn: (text: string) => void;

  constructor(parts: WriteParts, write: Write) {
    const { reader } = parts;
    this.parts = parts;
    this.write = write;
    this.strategy = parts.strategyOf(write.served.stored);
    this.subresource = write.subresource;
    this.user = write.user;
    this.verb = write.verb;
    this.dryRun = write.options.dryRun;
    this.authorize = parts.authorize;
    this.features = reader.features;
    this.provenance = write.provenance ?? reader.newProvenance();
    this.now = reader.now();
    this.newId = parts.newId;
    this.storage = reader.storage;
    this.warn = write.warn ?? ignoreWarning;
  }

  admissionRequest(operation: Operation, objects: AdmittedObjects): AdmissionRequest {
    return admissionRequest({ ...this.write, provenance: this.provenance }, operation, objects);
  }

  warnAll(texts: readonly string[]): void {
    for (const text of texts) this.warn(text);
  }

  /** Throws 422 if there are errors. */
  refuse(object: KubeObject, errors: readonly FieldError[]): void {
    // Messages contain the stored kind: an event is one of the core group.
    if (errors.length > 0) throw invalid(this.write.served.stored, object.metadata.name, errors);
  }

  /**
   * Reports whether the store is certain to reject a large object. Its managedFields, which no client will
   * see, are not computed then. A webhook that would shrink the object comes too late.
   */
  willBeTooLarge(object: KubeObject): boolean {
    const { pause, served } = this.write;
    return pause?.isLarge === true && !this.dryRun && isTooLarge(object, served.facts.schemaless === true);
  }

  /** Stores an object in its storage version. Undefined if another write came between. */
  async store(key: string, object: KubeObject, revision: number): Promise<Stored | undefined> {
    const { conversion } = modelOf(this.write.served);
    const stored = conversion === undefined ? object : await conversion.toStored(object);
    const ttl = this.strategy.ttl?.(object);
    this.storage.keepRawTexts(this.provenance);
    const put = (): Promise<Stored | undefined> =>
      this.storage.put(key, stored, revision, { ttl, pause: this.write.pause });
    if (this.strategy.reserve === undefined && !this.parts.admission.reserves) return put();
    return storeReserved(await this.#reserve(key, stored), put);
  }

  async #reserve(key: string, object: KubeObject): Promise<Reservation[]> {
    const reservations: Reservation[] = [];
    try {
      if (this.strategy.reserve !== undefined)
        reservations.push(await this.strategy.reserve(key, object, this));
      for (const each of this.parts.admission.reserve(this.write.served, key, object))
        reservations.push(each);
    } catch (error) {
      for (const each of reservations) await each.release();
      throw error;
    }
    return reservations;
  }

  /**
   * Removes an object from the store. Returns the revision of the deletion, undefined if another write came
   * between.
   */
  async remove(key: string, object: KubeObject, revision: number): Promise<number | undefined> {
    const removed = await this.storage.delete(key, revision);
    if (removed !== undefined) await this.strategy.afterDelete?.(object);
    return removed;
  }
}

async function storeReserved(
  reservations: readonly Reservation[],
  put: () => Promise<Stored | undefined>,
): Promise<Stored | undefined> {
  let stored: Stored | undefined;
  try {
    stored = await put();
  } catch (error) {
    for (const each of reservations) await (each.fail === undefined ? each.release() : each.fail());
    throw error;
  }
  for (const each of reservations) await (stored === undefined ? each.release() : each.commit());
  return stored;
}

/** Returns the request for admission. */
export function admissionRequest(
  write: Write,
  operation: Operation,
  objects: AdmittedObjects,
): AdmissionRequest {
  const { served, subresource, namespace, user, options, clientOptions, sent, provenance, pause } = write;
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
    warn: write.warn ?? ignoreWarning,
    ...(clientOptions === undefined || operation === "CONNECT"
      ? {}
      : { options: optionsFor(operation, clientOptions) }),
    ...(sent === undefined ? {} : { sent }),
    ...(provenance === undefined ? {} : { provenance }),
    ...(pause === undefined ? {} : { pause }),
  };
}

/** A PUT or PATCH that creates an object has CreateOptions in admission. */
function optionsFor(operation: Operation, clientOptions: object): object {
  return operation === "CREATE" ? { ...clientOptions, kind: "CreateOptions" } : clientOptions;
}
