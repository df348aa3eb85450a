import type { RE2JS } from "@bufbuild/re2";

/** The program that RE2 compiles a pattern to. */
type Program = ReturnType<RE2JS["re2"]>["prog"];
type Instruction = ReturnType<Program["getInst"]>;

/** Opcodes of RE2's instructions. */
const alternative = 1;
const alternativeMatch = 2;
const capture = 3;
const emptyWidth = 4;
const match = 6;
const nothing = 7;
const firstCharacter = 8;

/**
 * RE2's bits for the empty-width assertions that hold between two characters; -1 is the start or end of the
 * text.
 */
function assertions(before: number, after: number): number {
  const line = 10;
  const word = isWord(before) !== isWord(after) ? 0x10 : 0x20;
  const begin = before < 0 ? 0x05 : before === line ? 0x01 : 0;
  const end = after < 0 ? 0x0a : after === line ? 0x02 : 0;
  return word | begin | end;
}

const isWord = (point: number): boolean =>
  (point >= 0x61 && point <= 0x7a) ||
  (point >= 0x41 && point <= 0x5a) ||
  (point >= 0x30 && point <= 0x39) ||
  point === 0x5f;

/** The threads of a Pike VM at one position of the text, in order of priority. */
class Threads {
  readonly #program: Program;
  /** For each instruction, the last step that reached it. */
  readonly #reached: Uint32Array;
  #step = 1;
  readonly #stack: number[] = [];
  readonly instructions: Instruction[] = [];
  /** For each thread, where in the text its match starts. */
  readonly starts: number[] = [];

  constructor(program: Program) {
    this.#program = program;
    this.#reached = new Uint32Array(program.numInst());
  }

  clear(): void {
    this.#step++;
    this.instructions.length = 0;
    this.starts.length = 0;
  }

  /** Adds a thread, and follows all instructions that consume no character, preferred branches first. */
  add(pc: number, start: number, holding: number): void {
    const stack = this.#stack;
    stack.push(pc);
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      if (this.#reached[next] === this.#step) continue;
      this.#reached[next] = this.#step;
      const instruction = this.#program.getInst(next);
      const { op, out, arg } = instruction;
      if (op === alternative || op === alternativeMatch) stack.push(arg, out);
      else if (op === capture || op === nothing) stack.push(out);
      else if (op === emptyWidth) {
        if ((arg & ~holding) === 0) stack.push(out);
      } else if (op === match || op >= firstCharacter) {
        this.instructions.push(instruction);
        this.starts.push(start);
      }
    }
  }
}

/** A match, and the end of the text that had to be looked at to decide it. */
export interface Match {
  readonly start: number;
  readonly end: number;
  readonly lookedAt: number;
}

/**
 * Finds the first match from an index on, in linear time, with a Pike VM: `@bufbuild/re2` reports only
 * whether there is a match. Among matches with the same
 * start, returns the one that Perl would find.
 */
export function search(pattern: RE2JS, text: string, from: number): Match | undefined {
  // RE2 rejects most texts without a match much sooner.
  if (from === 0 && !pattern.test(text)) return undefined;
  const program = pattern.re2().prog;
  let current = new Threads(program);
  let next = new Threads(program);
  let found: { start: number; end: number } | undefined;
  let point = text.codePointAt(from) ?? -1;
  let here = assertions(from === 0 ? -1 : pointBefore(text, from), point);
  for (let at = from; ; ) {
    if (found === undefined) current.add(program.start, at, here);
    const after = point < 0 ? at : at + (point > 0xffff ? 2 : 1);
    const follower = text.codePointAt(after) ?? -1;
    const following = assertions(point, follower);
    next.clear();
    for (let i = 0; i < current.instructions.length; i++) {
      const instruction = current.instructions[i]!;
      const start = current.starts[i]!;
      if (instruction.op === match) {
        found = { start, end: at };
        // The remaining threads have a lower priority.
        break;
      }
      if (point >= 0 && instruction.matchRune(point)) next.add(instruction.out, start, following);
    }
    if (point < 0 || (found !== undefined && next.instructions.length === 0)) {
      return found && { ...found, lookedAt: at };
    }
    [current, next] = [next, current];
    at = after;
    point = follower;
    here = following;
  }
}

function pointBefore(text: string, index: number): number {
  const pair = text.codePointAt(index - 2);
  return index > 1 && pair !== undefined && pair > 0xffff ? pair : text.charCodeAt(index - 1);
}
