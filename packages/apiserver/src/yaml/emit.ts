import { floatText } from "@dray/api";
import { compareKeys } from "./keys.ts";
import { needsQuotes } from "./resolve.ts";
import { type Analysis, analyse, escaped, isBreak } from "./scalar.ts";

/** Column after which a line is folded at the next blank. */
const width = 80;
const step = 2;
/** Maximum length in bytes of a simple key; a longer one has the form `? key`. */
const maxKeyBytes = 128;

type Style = "plain" | "single" | "double" | "literal";

/** Encodes an object as YAML, byte for byte as kube-apiserver (sigs.k8s.io/yaml, go-yaml v2). */
export function encodeYAML(object: object): string {
  const emitter = new Emitter();
  emitter.node(object, -step, "root");
  return `${emitter.text}\n`;
}

/** Position of a node: behind `key:`, or behind `-` or `? key` `:`, on whose line it may begin. */
type Place = "root" | "value" | "item";

class Emitter {
  text = "";
  #column = 0;

  #put(text: string): void {
    this.text += text;
    for (const character of text) this.#column = character === "\n" ? 0 : this.#column + 1;
  }

  #newLine(indent: number): void {
    this.#put(`\n${" ".repeat(indent)}`);
  }

  /** `indent` is that of the surrounding collection. */
  node(value: unknown, indent: number, place: Place): void {
    if (Array.isArray(value)) this.#list(value, indent, place);
    else if (typeof value === "object" && value !== null) this.#map(value, indent, place);
    else {
      this.#put(" ");
      this.#scalar(value, indent, false);
    }
  }

  /** Writes the start of a line of a collection: `first` is false for all but its first line. */
  #begin(indent: number, place: Place, first: boolean): void {
    if (!first || place === "value") {
      if (this.text !== "") this.#newLine(indent);
    } else if (place === "item") this.#put(" ".repeat(indent - this.#column));
  }

  #list(list: readonly unknown[], around: number, place: Place): void {
    if (list.length === 0) {
      this.#put(" []");
      return;
    }
    // A list that is the value of a key is not indented.
    const indent = place === "value" ? around : around + step;
    for (const [index, item] of list.entries()) {
      this.#begin(indent, place, index === 0);
      this.#put("-");
      this.node(item, indent, "item");
    }
  }

  #map(map: object, around: number, place: Place): void {
    const keys = Object.keys(map).filter((key) => (map as Record<string, unknown>)[key] !== undefined);
    if (keys.length === 0) {
      this.#put(place === "root" ? "{}" : " {}");
      return;
    }
    const indent = around + step;
    for (const [index, key] of keys.sort(compareKeys).entries()) {
      this.#begin(indent, place, index === 0);
      const value = (map as Record<string, unknown>)[key];
      const simple = !analyse(key).multiline && Buffer.byteLength(key) <= maxKeyBytes;
      if (simple) {
        this.#scalar(key, indent, true);
        this.#put(":");
        this.node(value, indent, "value");
      } else {
        this.#put("? ");
        this.#scalar(key, indent, false);
        this.#newLine(indent);
        this.#put(":");
        this.node(value, indent, "item");
      }
    }
  }

  #scalar(value: unknown, around: number, key: boolean): void {
    if (typeof value !== "string") {
      this.#put(value === null ? "null" : number(value));
      return;
    }
    const indent = around + step;
    const style = styleOf(value, analyse(value), key);
    if (style === "double") this.#double(value, indent, !key);
    else if (style === "literal") this.#literal(value, indent);
    else {
      const quote = style === "single" ? "'" : "";
      this.#put(quote);
      this.#folded(value, indent, !key, style === "single");
      this.#put(quote);
    }
  }

  /** Plain or single-quoted text; the only line breaks in it are the rare ones of Unicode. */
  #folded(value: string, indent: number, folds: boolean, quoted: boolean): void {
    let [spaces, breaks] = [false, false];
    const last = value.length - 1;
    for (let at = 0; at < value.length; at++) {
      const character = value[at]!;
      if (character === " ") {
        const inside = !quoted || (at > 0 && at < last);
        if (folds && !spaces && this.#column > width && inside && value[at + 1] !== " ")
          this.#newLine(indent);
        else this.#put(" ");
        spaces = true;
      } else if (isBreak(character)) {
        this.text += character;
        this.#column = 0;
        breaks = true;
      } else {
        if (breaks) this.#put(" ".repeat(indent));
        this.#put(quoted && character === "'" ? "''" : character);
        [spaces, breaks] = [false, false];
      }
    }
  }

  #double(value: string, indent: number, folds: boolean): void {
    this.#put('"');
    let spaces = false;
    const characters = [...value];
    const last = characters.length - 1;
    for (const [at, character] of characters.entries()) {
      const written = escaped(character);
      if (written !== undefined) {
        this.#put(written);
        spaces = false;
      } else if (character === " ") {
        if (folds && !spaces && this.#column > width && at > 0 && at < last) {
          this.#newLine(indent);
          if (characters[at + 1] === " ") this.#put("\\");
        } else this.#put(" ");
        spaces = true;
      } else {
        this.#put(character);
        spaces = false;
      }
    }
    this.#put('"');
  }

  #literal(value: string, indent: number): void {
    const lead = value[0] === " " || isBreak(value[0]!) ? String(step) : "";
    const ends = isBreak(value.slice(-1));
    const chomp = !ends ? "-" : value.length === 1 || isBreak(value.slice(-2)) ? "+" : "";
    this.#put(`|${lead}${chomp}`);
    const lines = value.split("\n");
    if (ends) lines.pop();
    for (const line of lines) {
      this.#put("\n");
      if (line !== "") this.#put(" ".repeat(indent) + line);
    }
  }
}

function styleOf(value: string, analysis: Analysis, key: boolean): Style {
  const { multiline, plain, single, block } = analysis;
  if (value.includes("\n")) return block && !key ? "literal" : "double";
  if (needsQuotes(value) || (key && multiline)) return "double";
  if (plain) return "plain";
  return single ? "single" : "double";
}

/** A number in the format of Go's FormatFloat with `g`, unless it is a 64-bit integer; or a boolean. */
function number(value: unknown): string {
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 64) return String(value);
  return floatText(value);
}
