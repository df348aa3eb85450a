import type { Clock, Log } from "@dray/client";
import type { ServedResource } from "../registry/kinds.ts";
import type { OwnObjects } from "../registry/own-objects.ts";
import type { Storage } from "../storage/storage.ts";
import { LocalServices } from "./local-services.ts";

export interface AggregatorParts {
  readonly own: OwnObjects;
  readonly storage: Storage;
  readonly resources: readonly ServedResource[];
  readonly clock: Clock;
  readonly log: Log;
}

/** The APIServices of this server (kube-aggregator). */
export class Aggregator {
  readonly #local: LocalServices;

  constructor({ own, storage, resources, clock, log }: AggregatorParts) {
    this.#local = new LocalServices(own, storage, resources, clock, log);
  }

  /** Makes the APIServices of what this server has itself, and follows all of them. */
  async start(): Promise<void> {
    await this.#local.start();
  }

  async close(): Promise<void> {
    await this.#local.close();
  }
}
