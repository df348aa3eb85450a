/** Part of something that is limited, such as the files that a process may open. */
export class Budget {
  readonly max: number;
  #used = 0;

  constructor(max: number) {
    this.max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** Returns false if nothing is left. */
  take(): boolean {
    if (this.#used >= this.max) return false;
    this.#used++;
    return true;
  }

  free(): void {
    this.#used--;
  }
}
