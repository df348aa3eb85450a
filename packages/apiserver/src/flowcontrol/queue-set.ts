import type { Clock } from "@dray/client";
import type { RejectReason } from "./counts.ts";
import type { SeatDemand } from "./demand.ts";
import type { FlowRequest, Queue } from "./request.ts";

/** Expected duration of a request in milliseconds (estimatedServiceDuration). */
const expectedDuration = 3;

/** The queues of a priority level. Upstream: QueuingConfiguration of flowcontrol.apiserver.k8s.io/v1 */
export interface Queuing {
  readonly queues: number;
  readonly handSize: number;
  /** Maximum number of requests that wait in a queue. */
  readonly queueLengthLimit: number;
}

/**
 * The seats of a priority level, and the queues of requests that wait for one. Queues share the seats fairly:
 * each request has a virtual start, which follows the requests before it in its queue by their work, and the
 * request that would end first is next (start-time fair queueing). A request that finds a free seat and no
 * waiting request skips the queues.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/fairqueuing/queueset, whose virtual time follows the clock
 */
export class QueueSet {
  readonly #clock: Clock;
  readonly #demand: SeatDemand;
  /** Maximum number of seats in use. */
  #limit = 0;
  /** Undefined if requests never wait. */
  #queuing: Queuing | undefined;
  /** Queues in use, by index. */
  readonly #queues = new Map<number, Queue>();
  #virtualTime = 0;
  /** The maximum virtual start of all queues. */
  #latestStart = 0;
  #enqueued = 0;
  readonly executing = new Set<FlowRequest>();
  waiting = 0;
  seatsInUse = 0;
  seatsWaiting = 0;
  dispatched = 0;
  rejected = 0;
  timedOut = 0;

  constructor(clock: Clock, demand: SeatDemand) {
    this.#clock = clock;
    this.#demand = demand;
  }

  get isIdle(): boolean {
    return this.waiting === 0 && this.executing.size === 0;
  }

  get queues(): Iterable<Queue> {
    return this.#queues.values();
  }

  configure(limit: number, queuing: Queuing | undefined): void {
    this.#limit = limit;
    this.#queuing = queuing;
    this.#dispatch(this.#clock.now());
  }

  /** Executes the request, queues it, or rejects it: see its state. */
  start(request: FlowRequest): void {
    const queuing = this.#queuing;
    const room = queuing === undefined || this.seatsInUse < this.#limit;
    if (this.waiting === 0 && room && this.#hasSeats(request.seats)) {
      this.#execute(request, request.arrived);
      return;
    }
    if (queuing === undefined) {
      this.#reject(request, "concurrency-limit");
      return;
    }
    const queue = this.#choose(request, queuing);
    if (this.seatsInUse >= this.#limit && queue.waiting.size >= queuing.queueLengthLimit) {
      this.#reject(request, "queue-full");
      return;
    }
    this.#enqueue(request, queue);
    this.#dispatch(request.arrived);
  }

  /** Rejects a request that still waits. */
  timeOut(request: FlowRequest): void {
    const { queue } = request;
    if (request.state !== "waiting" || queue === undefined) return;
    this.#leaveQueue(request, queue);
    this.#noteDemand(this.#clock.now());
    this.timedOut++;
    this.#reject(request, "time-out");
  }

  /** Ends a request; its seats become free after its latency. */
  finish(request: FlowRequest): void {
    const now = this.#clock.now();
    const { counts } = request.flow;
    const { work, queue } = request;
    this.executing.delete(request);
    counts.executing--;
    if (queue) {
      queue.executing--;
      // The actual duration of a request is known only now.
      queue.nextStart += work.initialSeats * (now - request.started - expectedDuration);
      this.#bound(queue);
    }
    if (work.latency > 0) this.#clock.after(work.latency, () => this.#release(request, this.#clock.now()));
    else this.#release(request, now);
  }

  #release(request: FlowRequest, now: number): void {
    const { seats, queue, flow } = request;
    this.seatsInUse -= seats;
    flow.counts.executingSeats -= seats;
    if (queue) {
      queue.seatsInUse -= seats;
      this.#dropIfUnused(queue);
    }
    this.#noteDemand(now);
    this.#dispatch(now);
  }

  /** A request that needs more seats than the limit is executed alone. */
  #hasSeats(seats: number): boolean {
    if (seats > this.#limit) return this.executing.size === 0;
    return this.seatsInUse + seats <= this.#limit;
  }

  #execute(request: FlowRequest, now: number): void {
    const { seats, flow } = request;
    this.executing.add(request);
    this.seatsInUse += seats;
    this.dispatched++;
    flow.counts.executing++;
    flow.counts.executingSeats += seats;
    flow.counts.dispatched++;
    this.#noteDemand(now);
    request.execute(now);
  }

  #reject(request: FlowRequest, reason: RejectReason): void {
    const { rejected } = request.flow.counts;
    rejected.set(reason, (rejected.get(reason) ?? 0) + 1);
    this.rejected++;
    request.reject();
  }

  /** Returns the queue of the flow with the least work; ties are broken by rotation. */
  #choose({ flow, info, user }: FlowRequest, queuing: Queuing): Queue {
    const hand = flow.hand(flow.distinguisher(info, user), queuing);
    const offset = this.#enqueued++ % hand.length;
    let best: Queue | undefined;
    let bestIndex = hand[offset]!;
    for (let place = 0; place < hand.length; place++) {
      const index = hand[(offset + place) % hand.length]!;
      const queue = this.#queues.get(index);
      const work = queue?.waitingWork ?? 0;
      if (place > 0 && work >= (best?.waitingWork ?? 0)) continue;
      best = queue;
      bestIndex = index;
    }
    return best ?? newQueue(bestIndex, this.#virtualTime);
  }

  #enqueue(request: FlowRequest, queue: Queue): void {
    const { seats, flow } = request;
    // A busy period begins: the queues owe nothing for the one before.
    if (this.waiting === 0) this.#virtualTime = Math.max(this.#virtualTime, this.#latestStart);
    this.#queues.set(queue.index, queue);
    request.state = "waiting";
    request.queue = queue;
    request.arrivedAt = this.#virtualTime;
    queue.waiting.add(request);
    queue.waitingWork += workOf(request);
    this.#bound(queue);
    this.waiting++;
    this.seatsWaiting += seats;
    flow.counts.waiting++;
    flow.counts.waitingSeats += seats;
    this.#noteDemand(request.arrived);
  }

  #leaveQueue(request: FlowRequest, queue: Queue): void {
    const { seats, flow } = request;
    queue.waiting.delete(request);
    queue.waitingWork = queue.waiting.size === 0 ? 0 : queue.waitingWork - workOf(request);
    this.#bound(queue);
    this.waiting--;
    this.seatsWaiting -= seats;
    flow.counts.waiting--;
    flow.counts.waitingSeats -= seats;
    this.#dropIfUnused(queue);
  }

  /** Executes waiting requests as long as there are seats for the next one. */
  #dispatch(now: number): void {
    while (this.waiting > 0 && this.seatsInUse < this.#limit) {
      const queue = this.#next();
      if (queue === undefined) return;
      const [request] = queue.waiting;
      if (request === undefined || !this.#hasSeats(request.seats)) return;
      const start = queue.nextStart;
      queue.executing++;
      queue.seatsInUse += request.seats;
      queue.nextStart = start + workOf(request);
      this.#virtualTime = Math.max(this.#virtualTime, start);
      this.#latestStart = Math.max(this.#latestStart, queue.nextStart);
      this.#leaveQueue(request, queue);
      this.#execute(request, now);
    }
  }

  /** Returns the queue whose first request would end first. */
  #next(): Queue | undefined {
    let next: Queue | undefined;
    let earliest = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) {
      const [first] = queue.waiting;
      if (first === undefined) continue;
      const end = queue.nextStart + workOf(first);
      if (end >= earliest) continue;
      earliest = end;
      next = queue;
    }
    return next;
  }

  /** A request does not start before its arrival: a short queue accumulates no credit. */
  #bound(queue: Queue): void {
    const [first] = queue.waiting;
    if (first !== undefined) queue.nextStart = Math.max(queue.nextStart, first.arrivedAt);
  }

  #dropIfUnused(queue: Queue): void {
    if (queue.waiting.size === 0 && queue.executing === 0 && queue.seatsInUse === 0)
      this.#queues.delete(queue.index);
  }

  #noteDemand(now: number): void {
    this.#demand.set(this.seatsInUse + this.seatsWaiting, now);
  }
}

const newQueue = (index: number, nextStart: number): Queue => ({
  index,
  waiting: new Set(),
  waitingWork: 0,
  executing: 0,
  seatsInUse: 0,
  nextStart,
});

/** Estimated work in seat-milliseconds, before the duration is known. */
const workOf = ({ work }: FlowRequest): number =>
  work.initialSeats * expectedDuration + work.finalSeats * work.latency;
