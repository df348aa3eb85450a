import type { RE2JS } from "@bufbuild/re2";

/** The program that RE2 makes of a pattern. */
type Program = ReturnType<RE2JS["re2"]>["prog"];
type Instruction = ReturnType<Program["getInst"]>;

/** What the instructions of a program do (RE2's numbering). */
const alternative = 1;
const alternativeMatch = 2;
const capture = 3;
const emptyWidth = 4;
const match = 6;
const nothing = 7;
const firstCharacter = 8;

/** What holds between two characters, in RE2's bits; -1 stands for the end of the text. */
function context(before: number, after: number): number {
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

/** The places that a search has come to, the best first. */
class Threads {
  readonly #program: Program;
  /** For each instruction the last turn in which it was reached. */
  readonly #reached: Uint32Array;
  #turn = 1;
  readonly #left: number[] = [];
  readonly places: Instruction[] = [];
  /** Where in the text each began. */
  readonly starts: number[] = [];

  constructor(program: Program) {
    this.#program = program;
    this.#reached = new Uint32Array(program.numInst());
  }

  clear(): void {
    this.#turn++;
    this.places.length = 0;
    this.starts.length = 0;
  }

  /** Follows all that needs no character, what is tried first before what is tried second. */
  add(place: number, start: number, context: number): void {
    const left = this.#left;
    left.push(place);
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (this.#reached[next] === this.#turn) continue;
      this.#reached[next] = this.#turn;
      const instruction = this.#program.getInst(next);
      const { op, out, arg } = instruction;
      if (op === alternative || op === alternativeMatch) left.push(arg, out);
      else if (op === capture || op === nothing) left.push(out);
      else if (op === emptyWidth) {
        if ((arg & ~context) === 0) left.push(out);
      } else if (op === match || op >= firstCharacter) {
        this.places.push(instruction);
        this.starts.push(start);
      }
    }
  }
}

/** A match, and how far into the text it had to look to be sure of it. */
export interface Match {
  readonly start: number;
  readonly end: number;
  readonly looked: number;
}

/**
 * Where in the text the pattern first matches, from an index on, or undefined. Of several matches that begin at one
 * place it is the one that Perl would find. It walks along the text once (Pike's machine): `@bufbuild/re2` itself only
 * says whether there is a match.
 */
export function search(pattern: RE2JS, text: string, from: number): Match | undefined {
  // Most of what does not match it knows much sooner.
  if (from === 0 && !pattern.test(text)) return undefined;
  const program = pattern.re2().prog;
  let current = new Threads(program);
  let next = new Threads(program);
  let found: { start: number; end: number } | undefined;
  let point = text.codePointAt(from) ?? -1;
  let here = context(from === 0 ? -1 : pointBefore(text, from), point);
  for (let at = from; ; ) {
    if (found === undefined) current.add(program.start, at, here);
    const after = point < 0 ? at : at + (point > 0xffff ? 2 : 1);
    const follower = text.codePointAt(after) ?? -1;
    const following = context(point, follower);
    next.clear();
    for (let i = 0; i < current.places.length; i++) {
      const place = current.places[i]!;
      const start = current.starts[i]!;
      if (place.op === match) {
        found = { start, end: at };
        // What is tried later counts no more.
        break;
      }
      if (point >= 0 && place.matchRune(point)) next.add(place.out, start, following);
    }
    if (point < 0 || (found !== undefined && next.places.length === 0)) {
      return found && { ...found, looked: at };
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
