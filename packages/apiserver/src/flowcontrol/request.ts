import type { UserInfo } from "@dray/client";
import type { RequestInfo } from "../request/info.ts";
import type { FlowCounts } from "./counts.ts";

/** The seats of a request, and how long it holds them. */
export interface WorkEstimate {
  /** Seats during execution. */
  readonly initialSeats: number;
  /** Seats after execution, for `latency` milliseconds: while its watchers are notified. */
  readonly finalSeats: number;
  readonly latency: number;
}

export const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, latency: 0 };

/** The properties of a FlowSchema in effect that its requests need while they wait and are executed. */
export interface RequestFlow {
  readonly name: string;
  readonly level: { readonly name: string; readonly isExempt: boolean };
  readonly counts: FlowCounts;
  distinguisher(info: RequestInfo, user: UserInfo): string;
  hand(distinguisher: string, queuing: { queues: number; handSize: number }): readonly number[];
}

/** Waiting requests of a few flows, in the order of their arrival. */
export interface Queue {
  readonly index: number;
  readonly waiting: Set<FlowRequest>;
  /** Work of the waiting requests, in seat-milliseconds. */
  waitingWork: number;
  executing: number;
  seatsInUse: number;
  /** Virtual time at which its next request starts. */
  nextStart: number;
}

interface FlowRequestParts<Flow> {
  readonly flow: Flow;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly work: WorkEstimate;
  /** Time of its arrival, in milliseconds since the epoch. */
  readonly now: number;
}

/** A request at a priority level. */
export class FlowRequest<Flow extends RequestFlow = RequestFlow> {
  readonly flow: Flow;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly work: WorkEstimate;
  /** Maximum number of seats at a time. */
  readonly seats: number;
  /** Milliseconds since the epoch, like `started`. */
  readonly arrived: number;
  started = 0;
  state: "new" | "waiting" | "executing" | "rejected" = "new";
  /** Undefined if the request did not wait. */
  queue: Queue | undefined;
  /** Virtual time at its arrival. */
  arrivedAt = 0;
  #decision: PromiseWithResolvers<void> | undefined;

  constructor({ flow, info, user, work, now }: FlowRequestParts<Flow>) {
    this.flow = flow;
    this.info = info;
    this.user = user;
    this.work = work;
    this.seats = Math.max(work.initialSeats, work.finalSeats);
    this.arrived = now;
  }

  /** Resolves when a waiting request is executed or rejected. */
  get decided(): Promise<void> {
    this.#decision ??= Promise.withResolvers<void>();
    return this.#decision.promise;
  }

  execute(now: number): void {
    this.state = "executing";
    this.started = now;
    this.#decision?.resolve();
  }

  reject(): void {
    this.state = "rejected";
    this.#decision?.resolve();
  }
}
