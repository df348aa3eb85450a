import { setImmediate } from "node:timers/promises";

/** Divides long synchronous work, so that the event loop runs between its steps. */
export class EventLoopShare {
  readonly #stepsAtOnce: number;
  #steps = 0;

  constructor(stepsAtOnce: number) {
    this.#stepsAtOnce = stepsAtOnce;
  }

  /** Ends a step. Waits for the event loop after every `stepsAtOnce` of them. */
  async step(): Promise<void> {
    this.#steps++;
    if (this.#steps % this.#stepsAtOnce === 0) await setImmediate();
  }
}
