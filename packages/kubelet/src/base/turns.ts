import { setImmediate } from "node:timers/promises";

/** Divides long work, so that whatever else the process does goes on between its parts. */
export class Turns {
  readonly #stepsPerTurn: number;
  #steps = 0;

  constructor(stepsPerTurn: number) {
    this.#stepsPerTurn = stepsPerTurn;
  }

  /** Ends a step, and the turn with the last of them. */
  async step(): Promise<void> {
    this.#steps++;
    if (this.#steps % this.#stepsPerTurn === 0) await setImmediate();
  }
}
