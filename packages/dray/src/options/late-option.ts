import { Option } from "commander";

/**
 * An option whose description ends with what a large part of the program knows, which is loaded only when the
 * help is shown.
 */
export class LateOption extends Option {
  readonly #loadDetails: () => Promise<string>;
  #isLoaded = false;

  constructor(flags: string, description: string, loadDetails: () => Promise<string>) {
    super(flags, description);
    this.#loadDetails = loadDetails;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Completes the description. */
  async load(): Promise<void> {
    if (this.#isLoaded) return;
    this.description += `: ${await this.#loadDetails()}`;
    this.#isLoaded = true;
  }
}
