import { Histogram } from "./histogram.ts";

/** Reasons in the metric of rejected requests. */
export type RejectReason = "concurrency-limit" | "queue-full" | "time-out";

/** Counts of the requests of one FlowSchema at one priority level. */
export class FlowCounts {
  readonly level: string;
  readonly schema: string;
  dispatched = 0;
  executing = 0;
  executingSeats = 0;
  waiting = 0;
  waitingSeats = 0;
  readonly rejected = new Map<RejectReason, number>();
  readonly executedWait = new Histogram();
  readonly rejectedWait = new Histogram();
  readonly execution = new Histogram();
  /** For watches: until they have sent the initial events. */
  readonly watchExecution = new Histogram();

  constructor(level: string, schema: string) {
    this.level = level;
    this.schema = schema;
  }
}
