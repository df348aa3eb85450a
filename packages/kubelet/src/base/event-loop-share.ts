import { setImmediate } from "node:timers/promises";

/** Divides long work of the process, so that everything else goes on between its steps. */
export class EventLoopShare {
  readonly #stepsAtOnce: number;
  #steps = 0;

  constructor(stepsAtOnce: number) {
    this.#stepsAtOnce = stepsAtOnce;
  }

  /** Ends a step. Lets others run after the last one of those that go at once. */
  async step(): Promise<void> {
    this.#steps++;
    if (this.#steps % this.#stepsAtOnce === 0) await setImmediate();
  }
}
