import type { Features, KubeObject } from "@dray/api";
import type { Clock } from "@dray/client";
import type { AdmissionRequest } from "../admission/admission.ts";
import { statusObject } from "../errors/status.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { Strategy } from "../kinds/strategy.ts";
import { ObjectReader } from "../read/objects.ts";
import type { DeleteOptions } from "../request/options.ts";
import { KeyedMutex } from "../storage/keyed-mutex.ts";
import type { Storage } from "../storage/storage.ts";
import type { Checks } from "./checks.ts";
import { admissionRequest, type WriteParts } from "./context.ts";
import { create } from "./create.ts";
import { deleteObject } from "./delete.ts";
import type { ManagedFields } from "./managed-fields.ts";
import { update } from "./update.ts";
import type { Deletion, UpdateRules, Write, Written } from "./write.ts";

export type { Deletion, UpdateRules, Write, Written } from "./write.ts";

export interface RegistryParts extends Omit<WriteParts, "reader"> {
  readonly storage: Storage;
  readonly features: Features;
  readonly clock: Clock;
}

/** A request for admission that is not a write of an object. */
interface Admitted {
  readonly operation: "CREATE" | "CONNECT";
  readonly object: KubeObject;
  /** Kind of the object if it is not that of the resource. */
  readonly kind?: AdmissionRequest["kind"];
  readonly validate?: () => void;
}

/** Reads and writes objects of all kinds by the rules of Kubernetes and the strategy of each kind. */
export class Registry extends ObjectReader {
  readonly #parts: WriteParts;
  readonly #mutex = new KeyedMutex();

  constructor({ storage, features, clock, ...parts }: RegistryParts) {
    super(storage, features, clock);
    this.#parts = { ...parts, reader: this };
  }

  get managers(): ManagedFields {
    return this.#parts.managers;
  }

  get checks(): Checks {
    return this.#parts.checks;
  }

  newId(): string {
    return this.#parts.newId();
  }

  strategy(served: ServedResource): Strategy {
    return this.#parts.strategyOf(served.stored);
  }

  /**
   * Calls admission for a request that is not a write of an object: a subresource with an action, a review, a
   * connection. Admission may change `object`; `validate` checks the result. Throws StatusError.
   */
  async admit(write: Write, { operation, object, kind, validate }: Admitted): Promise<void> {
    const { admission } = this.#parts;
    const objects = { object, ...(kind === undefined ? {} : { kind }) };
    const request = admissionRequest(write, operation, objects);
    await admission.mutate(request);
    validate?.();
    await admission.validate(request);
  }

  /** Creates an object; `draft` is in the served version and may be changed. Throws StatusError. */
  create(write: Write, draft: KubeObject, ownManagers = false): Promise<KubeObject> {
    return create(this.#parts, write, draft, ownManagers);
  }

  /** Updates an object. Returns it in the served version. Throws StatusError. */
  update(write: Write, rules: UpdateRules): Promise<Written> {
    const key = this.key(write.served, write.namespace, write.name);
    return this.#locked(key, () => update(this.#parts, write, rules, key));
  }

  /** Deletes an object, or begins to. Throws StatusError. */
  delete(write: Write, options: DeleteOptions): Promise<Deletion> {
    const key = this.key(write.served, write.namespace, write.name);
    return this.#locked(key, () => deleteObject(this.#parts, write, options));
  }

  /**
   * Serializes the writers of one object, so that none conflicts again and again. A write that waits for a
   * webhook does not hold the mutex, because the webhook may write the object.
   */
  #locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#parts.admission.asksOutside() ? work() : this.#mutex.run(key, work);
  }

  /** Returns the body of a DELETE response for a removed object. */
  deletionResponse(served: ServedResource, object: KubeObject): object {
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
