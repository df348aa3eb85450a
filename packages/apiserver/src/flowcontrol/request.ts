import type { UserInfo } from "@dray/client";
import type { RequestInfo } from "../request/info.ts";
import type { FlowCounts } from "./counts.ts";

/** The seats that a request takes, and for how long. */
export interface WorkEstimate {
  /** Seats while it is worked on. */
  readonly initialSeats: number;
  /** Seats after that, for `latency` milliseconds: while its watchers are told. */
  readonly finalSeats: number;
  readonly latency: number;
}

export const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, latency: 0 };

/** The part of a FlowSchema in effect that its requests need while they wait and are executed. */
export interface RequestFlow {
  readonly name: string;
  readonly level: { readonly name: string; readonly isExempt: boolean };
  readonly counts: FlowCounts;
  distinguisher(info: RequestInfo, user: UserInfo): string;
  hand(distinguisher: string, queuing: { queues: number; handSize: number }): readonly number[];
}

/** Requests of a few flows that wait, in the order of their arrival. */
export interface Queue {
  readonly index: number;
  readonly waiting: Set<FlowRequest>;
  /** Work of those that wait, in seat-milliseconds. */
  waitingWork: number;
  executing: number;
  seatsInUse: number;
  /** Virtual time at which its next request starts. */
  nextStart: number;
}

interface FlowRequestOptions<Flow extends RequestFlow> {
  readonly flow: Flow;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly work: WorkEstimate;
  /** Milliseconds since the epoch. */
  readonly arrived: number;
}

/** A request at a priority level. */
export class FlowRequest<Flow extends RequestFlow = RequestFlow> {
  readonly flow: Flow;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly work: WorkEstimate;
  /** The most seats that it takes at a time. */
  readonly seats: number;
  /** Milliseconds since the epoch, as `started`. */
  readonly arrived: number;
  started = 0;
  state: "new" | "waiting" | "executing" | "rejected" = "new";
  /** Undefined for one that did not have to wait. */
  queue: Queue | undefined;
  /** The virtual time at its arrival. */
  arrivedAt = 0;
  #decision: PromiseWithResolvers<void> | undefined;

  constructor({ flow, info, user, work, arrived }: FlowRequestOptions<Flow>) {
    this.flow = flow;
    this.info = info;
    this.user = user;
    this.work = work;
    this.seats = Math.max(work.initialSeats, work.finalSeats);
    this.arrived = arrived;
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
