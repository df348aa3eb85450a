import { StatusError } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import type { Client, Log, ResourceClient } from "@dray/client";
import { DroppedFieldsError } from "../types/errors.ts";
import { createOwnWrites } from "./own-writes.ts";
import { planPool, type SliceContent, type SliceScope } from "./slices.ts";
import { StoredSlices } from "./stored.ts";

/** A pool as it is to be published, divided into slices. */
export interface WantedPool {
  readonly contents: readonly SliceContent[];
  readonly generation: number | undefined;
}

export interface SliceWriterOptions {
  readonly client: Client;
  /** Name of the driver. */
  readonly driver: string;
  readonly scope: SliceScope;
  readonly log: Log;
}

/** Creates, updates and deletes the ResourceSlices of a driver. */
export class SliceWriter {
  readonly #options: SliceWriterOptions;
  readonly #slices: ResourceClient<ResourceSlice>;
  readonly #stored = new StoredSlices();
  readonly own = createOwnWrites();
  readonly statistics = { creates: 0, updates: 0, deletes: 0 };
  /** Fields that the server did not store, since `takeDropped` was last called. */
  #dropped: DroppedFieldsError[] = [];

  constructor(options: SliceWriterOptions) {
    this.#options = options;
    this.#slices = options.client.resource(ResourceSlice);
  }

  /** Returns the errors of fields that the server did not store, each once. */
  takeDropped(): DroppedFieldsError[] {
    return this.#dropped.splice(0);
  }

  /** Has the server hold the slices of a pool; `existing` are those that it holds now. */
  async writePool(
    pool: string,
    { contents, generation }: WantedPool,
    existing: ResourceSlice[],
  ): Promise<void> {
    const { driver, scope } = this.#options;
    const same = this.#stored.same.bind(this.#stored);
    const plan = planPool({ driver, scope, pool, generation, existing, wanted: contents, same });
    for (const slice of plan.deletes) await this.remove(slice);
    for (const { slice, spec } of plan.updates) {
      const stored = await this.#slices.update({ ...slice, spec });
      this.statistics.updates++;
      this.#adopt(spec, stored);
    }
    if (plan.creates.length === 0) return;
    const ownerReferences = await this.#owners();
    for (const { generateName, spec } of plan.creates) {
      const stored = await this.#slices.create({ metadata: { generateName, ...ownerReferences }, spec });
      this.statistics.creates++;
      this.#adopt(spec, stored);
    }
  }

  async remove(slice: ResourceSlice): Promise<void> {
    const { name, uid, resourceVersion } = slice.metadata;
    try {
      await this.#slices.delete({ name }, { preconditions: { uid, resourceVersion } });
      this.statistics.deletes++;
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
    this.own.ended(slice);
  }

  #adopt(sent: SliceContent, stored: ResourceSlice): void {
    this.own.wrote(stored);
    const gates = this.#stored.adopt(sent, stored);
    if (gates.length === 0) return;
    const { name } = stored.metadata;
    this.#options.log.error(
      { slice: name, gates },
      "The API server dropped fields of a ResourceSlice: feature gates are off",
    );
    this.#dropped.push(new DroppedFieldsError(stored.spec.pool.name, name, gates));
  }

  async #owners(): Promise<Pick<ResourceSlice["metadata"], "ownerReferences">> {
    const { client, scope } = this.#options;
    if (!("nodeName" in scope)) {
      const { owner } = scope;
      return owner === undefined ? {} : { ownerReferences: [{ ...owner, controller: true }] };
    }
    // Read each time: a node that was deleted and created again has another UID.
    const { uid, name } = (await client.resource(Node).get({ name: scope.nodeName })).metadata;
    return { ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid, controller: true }] };
  }
}
