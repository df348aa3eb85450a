import type { TextNotes } from "../../json/text-notes.ts";
import type { FieldType } from "../../schema/types.ts";
import type { Provenance } from "../provenance.ts";

/**
 * A step from a value to a part of it: a field or key, an index, or the alternative of a union that was read.
 */
export type Step = string | number | FieldType;

/**
 * An error in one value. Kind and place are noted; the message is made when reading has ended
 * (messages.ts). `steps` lead from the value out to the whole tree: each reader adds its own step when a part
 * of its value had a fault.
 */
export type Fault = Problem | WrongValue;

/** An unknown or duplicate field: an error under strict validation only. */
export interface Problem {
  readonly form: "unknown" | "duplicate";
  readonly steps: Step[];
}

export type WrongValue =
  /**
   * `found` is what Go calls the value, `wanted` the Go type that it should have; that of its place if
   * absent.
   */
  | { readonly form: "mismatch"; readonly found: string; readonly wanted?: string; readonly steps: Step[] }
  /** The message names no place. */
  | { readonly form: "message"; readonly message: string; readonly steps: Step[] };

/** The same limit as in Go. Upstream: sigs.k8s.io/json, internal/golang/encoding/json/kubernetes_patch.go */
const maxProblems = 100;

/** Options that apply to every part of a tree. */
export interface TreeOptions {
  readonly stored: boolean;
  readonly owned: boolean;
  /** Notes of the parser of the tree. */
  readonly notes: TextNotes;
  /** Receives the details that the object does not show. */
  readonly provenance: Provenance;
}

/** The faults found while one tree is read, in order. */
export class Findings {
  readonly options: TreeOptions;
  readonly faults: Fault[] = [];
  /** The first value of a wrong type: Go reads on, and reports it if nothing ends the reading before. */
  wrong: WrongValue | undefined;
  /** The fault that ended the reading: every reader returns at once. */
  stop: WrongValue | undefined;

  constructor(options: TreeOptions) {
    this.options = options;
  }

  get problems(): readonly Problem[] {
    return this.faults.filter(
      (fault): fault is Problem => fault.form === "unknown" || fault.form === "duplicate",
    );
  }

  /** An unknown or duplicate field of the value at hand. */
  problem(form: "unknown" | "duplicate", key: string): void {
    this.#add({ form, steps: [key] });
  }

  /**
   * The same for a value whose keys repeat: at most one problem of each key. `since`: where its faults begin.
   */
  problemOnce(form: "unknown" | "duplicate", key: string, since: number): void {
    const fault: Problem = { form, steps: [key] };
    if (!this.#has(fault, since)) this.#add(fault);
  }

  /** A value of a wrong type, which counts as unset from here on. */
  mismatch(found: string, wanted?: string): undefined {
    this.#setWrong({ form: "mismatch", found, ...(wanted !== undefined && { wanted }), steps: [] });
    return undefined;
  }

  /** A value that is wrong in itself. */
  wrongValue(message: string): undefined {
    this.#setWrong({ form: "message", message, steps: [] });
    return undefined;
  }

  /** A value of a wrong type whose own decoder ends the reading. */
  refuse(found: string, wanted: string): undefined {
    this.stopAt({ form: "mismatch", found, wanted, steps: [] });
    return undefined;
  }

  stopAt(fault: WrongValue): void {
    this.stop = fault;
    this.faults.push(fault);
  }

  /** Adds a step to the faults from index `since` on. True if reading has ended. */
  locate(since: number, step: Step): boolean {
    for (let i = since; i < this.faults.length; i++) this.faults[i]!.steps.push(step);
    return this.stop !== undefined;
  }

  /**
   * Takes over the findings in a value that repeats the key `step`; problems that the first one had too are
   * left out. `since`: where the faults of the object begin. True if reading has ended.
   */
  adopt(second: Findings, step: string, since: number): boolean {
    for (const fault of second.faults) {
      fault.steps.push(step);
      if (fault === second.stop) this.stopAt(second.stop);
      else if (fault.form === "mismatch" || fault.form === "message") this.#setWrong(fault);
      else if (!this.#has(fault, since)) this.#add(fault);
    }
    return this.stop !== undefined;
  }

  #setWrong(fault: WrongValue): void {
    if (this.wrong !== undefined) return;
    this.wrong = fault;
    this.faults.push(fault);
  }

  #add(fault: Problem): void {
    const problems = this.faults.length - (this.wrong === undefined ? 0 : 1);
    if (problems < maxProblems) this.faults.push(fault);
  }

  #has({ form, steps }: Problem, since: number): boolean {
    return this.faults.some(
      (known, i) =>
        i >= since &&
        known.form === form &&
        known.steps.length === steps.length &&
        known.steps.every((step, j) => step === steps[j]),
    );
  }
}
