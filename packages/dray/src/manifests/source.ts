import { type LineFinder, lineFinder } from "@dray/api/yaml";

/** A text with manifests, or a cluster that objects were read from. */
export interface Source {
  /** As it was named; `standard input` for `-`, `context NAME` for a cluster. */
  readonly file: string;
  readonly text: string;
  /** Lines are looked for only where something is reported. */
  readonly lineOf: LineFinder;
}

/** Longest text, in characters, whose lines are looked for: finding them reads it a second time. */
const maxText = 32 * 1024 * 1024;

export function sourceOf(file: string, text: string): Source {
  return { file, text, lineOf: text.length > maxText ? () => undefined : lineFinder(text) };
}
