import type { KubeObject } from "@dray/api";
import type { FlowSchema, PriorityLevelConfiguration } from "@dray/api/flowcontrol/v1";
import type { Clock } from "@dray/client";
import { compareFlowSchemas, type FlowSchemaSource } from "../kinds/flowcontrol/flow-schema/order.ts";
import type { CacheEvent } from "../storage/history.ts";
import { deepEqual } from "../storage/json.ts";
import type { Storage } from "../storage/storage.ts";
import { allocate } from "./allocation.ts";
import { mandatoryLevels, mandatorySchemas } from "./bootstrap-objects.ts";
import { Classifier } from "./classifier.ts";
import { FlowCounts } from "./counts.ts";
import { Flow } from "./flow.ts";
import { PriorityLevel } from "./priority-level.ts";

const schemas = "flowschemas";
const levels = "prioritylevelconfigurations";
const catchAll = "catch-all";

/**
 * The FlowSchemas and priority levels in effect: the stored ones, and the missing mandatory ones. A change
 * takes effect with its write.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/apf_controller.go
 */
export class Configuration {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #seats: number;
  #levels = new Map<string, PriorityLevel>();
  /** By level and FlowSchema. */
  #counts = new Map<string, FlowCounts>();
  #classifier: Classifier | undefined;
  /** Fraction of its target that a level gets if no bound applies. */
  fairFraction = 0;

  /** `seats`: all seats of the server, shared by all levels but the exempt one. */
  constructor(storage: Storage, clock: Clock, seats: number) {
    this.#storage = storage;
    this.#clock = clock;
    this.#seats = seats;
    for (const resource of [schemas, levels]) storage.cache(resource).subscribe((event) => this.#note(event));
  }

  get classifier(): Classifier {
    return this.#classifier ?? this.#renew();
  }

  get levels(): readonly PriorityLevel[] {
    if (this.#classifier === undefined) this.#renew();
    return [...this.#levels.values()];
  }

  get counts(): Iterable<FlowCounts> {
    return this.#counts.values();
  }

  get flowSchemas(): readonly FlowSchema[] {
    return this.#objects<FlowSchema>(schemas);
  }

  /** Reports whether a level of this name is stored. FlowSchemas that refer to a missing one dangle. */
  hasLevel(name: string): boolean {
    if (this.#classifier === undefined) this.#renew();
    const level = this.#levels.get(name);
    return level !== undefined && !level.isQuiescing && level.uid !== "";
  }

  /** Called when a level has become idle: one whose object is gone is dropped on the next use. */
  reap(level: PriorityLevel): void {
    if (level.isQuiescing) this.#classifier = undefined;
  }

  #note({ type, object, previous }: CacheEvent): void {
    const specOf = (each: KubeObject | undefined): unknown => (each as FlowSchema | undefined)?.spec;
    const isSame = type === "MODIFIED" && deepEqual(specOf(object), specOf(previous));
    if (!isSame) this.#classifier = undefined;
  }

  #objects<T>(resource: string): T[] {
    const cache = this.#storage.cache(resource);
    return [...cache.range(cache.prefix)].map(({ object }) => object as T);
  }

  #renew(): Classifier {
    this.#renewLevels();
    const found = this.flowSchemas.filter(({ spec }) => {
      const level = this.#levels.get(spec.priorityLevelConfiguration.name);
      return level !== undefined && !level.isQuiescing;
    });
    const names = new Set(found.map(({ metadata }) => metadata.name));
    const missing = mandatorySchemas.filter(({ metadata }) => !names.has(metadata.name));
    const flows = [...found, ...missing].sort(compareFlowSchemas).map((schema) => this.#flow(schema));
    this.#forgetCounts(flows);
    // `catchAll` is among the mandatory schemas.
    this.#classifier = new Classifier(flows, flows.find(({ name }) => name === catchAll)!);
    return this.#classifier;
  }

  #flow(schema: FlowSchemaSource): Flow {
    // The levels of mandatory schemas are mandatory, and `#renew` leaves out schemas whose level is missing.
    const level = this.#levels.get(schema.spec.priorityLevelConfiguration.name)!;
    const { name } = schema.metadata;
    const key = `${level.name}/${name}`;
    const counts = this.#counts.get(key) ?? new FlowCounts(level.name, name);
    this.#counts.set(key, counts);
    return new Flow(schema, level, counts);
  }

  /** Drops the counts of deleted FlowSchemas: names chosen by clients would accumulate otherwise. */
  #forgetCounts(flows: readonly Flow[]): void {
    const used = new Set(flows.map(({ counts }) => counts));
    for (const [key, counts] of this.#counts) {
      const isIdle = counts.executing === 0 && counts.waiting === 0;
      if (!used.has(counts) && isIdle) this.#counts.delete(key);
    }
  }

  #renewLevels(): void {
    const stored = this.#objects<PriorityLevelConfiguration>(levels);
    const names = new Set(stored.map(({ metadata }) => metadata.name));
    const missing = mandatoryLevels.filter(({ metadata }) => !names.has(metadata.name));
    const old = this.#levels;
    this.#levels = new Map();
    for (const object of [...stored, ...missing]) {
      const { name } = object.metadata;
      const level = old.get(name) ?? new PriorityLevel(name, this.#clock);
      level.configure(object);
      this.#levels.set(name, level);
    }
    for (const [name, level] of old) {
      if (this.#levels.has(name) || level.requests.isIdle) continue;
      level.isQuiescing = true;
      this.#levels.set(name, level);
    }
    const all = [...this.#levels.values()];
    const shares = all.reduce((sum, level) => sum + level.shares, 0);
    for (const level of all) level.divide(this.#seats, shares);
    this.#adjust(all);
  }

  /** Lends unused seats of levels to levels that need more. Called every 10 seconds. */
  adjust(): void {
    this.#adjust(this.levels);
  }

  /** Upstream: updateBorrowingLocked */
  #adjust(all: readonly PriorityLevel[]): void {
    for (const level of all) level.noteDemand();
    const limited = all.filter(({ isExempt }) => !isExempt);
    const sum = (amounts: readonly number[]): number => amounts.reduce((a, b) => a + b, 0);
    const seats = sum(all.map(({ nominalSeats }) => nominalSeats));
    let remaining = seats;
    for (const level of all) {
      if (!level.isExempt) continue;
      level.setSeats(level.keptSeats);
      remaining -= level.currentSeats;
    }
    const minTotal = sum(limited.map(({ minSeats }) => minSeats));
    const kept = sum(limited.map(({ keptSeats }) => keptSeats));
    for (const level of limited) level.targetSeats = Math.max(level.keptSeats, level.smoothedDemand);
    this.fairFraction = 0;
    if (remaining <= minTotal) for (const level of limited) level.setSeats(level.minSeats);
    else if (remaining <= kept) {
      const part = (remaining - minTotal) / (kept - minTotal);
      for (const level of limited)
        level.setSeats(level.minSeats + Math.round((level.keptSeats - level.minSeats) * part));
    } else this.#share(seats, limited);
  }

  #share(seats: number, limited: readonly PriorityLevel[]): void {
    const shares = limited.map(({ targetSeats, keptSeats, maxSeats }) => ({
      target: targetSeats,
      lower: keptSeats,
      upper: maxSeats,
    }));
    const { amounts, fraction } = allocate(seats, shares);
    this.fairFraction = fraction;
    limited.forEach((level, index) => {
      level.setSeats(Math.round(amounts[index]!));
    });
  }
}
