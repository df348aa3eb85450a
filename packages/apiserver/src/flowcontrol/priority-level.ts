import type { PriorityLevelConfigurationSpec } from "@dray/api/flowcontrol/v1";
import type { Clock } from "@dray/client";
import type { PriorityLevelSource } from "../kinds/flowcontrol/flow-schema/order.ts";
import { SeatDemand } from "./demand.ts";
import { QueueSet, type Queuing } from "./queue-set.ts";

/** Maximum fraction of a level's seats for one request (priorityLevelMaxSeatsPercent). */
const maxSeatsFraction = 0.15;
/** Weight of the old demand after a period; its half-life is 5 minutes (seatDemandSmoothingCoefficient). */
const smoothing = 0.977;

/** A PriorityLevelConfiguration in effect. Changes of the object keep the instance. */
export class PriorityLevel {
  readonly name: string;
  readonly requests: QueueSet;
  readonly #clock: Clock;
  readonly #demand: SeatDemand;
  uid = "";
  isExempt = false;
  /** The object is deleted; the level remains until its last request has ended. */
  isQuiescing = false;
  #spec: PriorityLevelConfigurationSpec | undefined;
  #isNew = true;
  /** The level's part of the server's seats, in proportion to its shares. */
  nominalSeats = 0;
  /** Seats after lending all that it may lend. */
  minSeats = 0;
  /** Seats after borrowing all that it may borrow. */
  maxSeats = 0;
  /** Seats after lending and borrowing in this period. */
  currentSeats = 0;
  /** Demand of the last period, in seats. */
  highestDemand = 0;
  averageDemand = 0;
  demandDeviation = 0;
  /** Falls slowly, rises at once. */
  smoothedDemand = 0;
  targetSeats = 0;

  constructor(name: string, clock: Clock) {
    this.name = name;
    this.#clock = clock;
    this.#demand = new SeatDemand(clock.now());
    this.requests = new QueueSet(clock, this.#demand);
  }

  configure({ metadata, spec }: PriorityLevelSource): void {
    this.uid = metadata.uid ?? "";
    this.isExempt = spec.type === "Exempt";
    this.isQuiescing = false;
    this.#spec = spec;
  }

  get shares(): number {
    return this.#spec?.limited?.nominalConcurrencyShares ?? this.#spec?.exempt?.nominalConcurrencyShares ?? 0;
  }

  get #queuing(): Queuing | undefined {
    const { type, queuing } = this.#spec?.limited?.limitResponse ?? {};
    if (type !== "Queue" || !queuing) return undefined;
    const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
    return { queues, handSize, queueLengthLimit };
  }

  /** Sets the level's part of all seats of the server, in proportion to its shares. */
  divide(seats: number, allShares: number): void {
    const { lendablePercent, borrowingLimitPercent } = this.#spec?.limited ?? {};
    const lendable = lendablePercent ?? this.#spec?.exempt?.lendablePercent ?? 0;
    this.nominalSeats = allShares > 0 ? Math.ceil((seats * this.shares) / allShares) : 0;
    const lent = Math.round((this.nominalSeats * lendable) / 100);
    const borrowed =
      borrowingLimitPercent === undefined || borrowingLimitPercent === null
        ? seats
        : Math.round((this.nominalSeats * borrowingLimitPercent) / 100);
    this.minSeats = this.nominalSeats - lent;
    this.maxSeats = this.nominalSeats + borrowed;
    if (this.#isNew) this.currentSeats = this.nominalSeats - Math.floor(lent / 2);
    this.#isNew = false;
  }

  /** Reads the demand since the last call. */
  noteDemand(): void {
    const demand = this.#demand.summary(this.#clock.now());
    if (demand === undefined) return;
    this.highestDemand = demand.highest;
    this.averageDemand = demand.average;
    this.demandDeviation = demand.deviation;
    const envelope = demand.average + demand.deviation;
    this.smoothedDemand = Math.max(envelope, smoothing * this.smoothedDemand + (1 - smoothing) * envelope);
  }

  /** Seats that are never lent: the recent demand, limited by its own seats. */
  get keptSeats(): number {
    if (this.isExempt) return Math.max(this.minSeats, this.highestDemand);
    return Math.max(this.minSeats, Math.min(this.nominalSeats, this.highestDemand));
  }

  setSeats(seats: number): void {
    this.currentSeats = seats;
    this.requests.configure(this.isExempt ? Number.POSITIVE_INFINITY : seats, this.#queuing);
  }

  /** Maximum number of seats of one request; undefined if the level has no limit. */
  get maxRequestSeats(): number | undefined {
    const queuing = this.#queuing;
    if (queuing === undefined) return undefined;
    const share = Math.ceil(this.nominalSeats * maxSeatsFraction);
    return Math.max(1, Math.min(share, Math.floor(this.nominalSeats / queuing.handSize)));
  }
}
