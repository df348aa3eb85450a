import { type LineFinder, lineFinder } from "@dray/api/yaml";

/** A text with manifests, or a cluster with objects. */
export interface Source {
  /** The name of the input; `standard input` for `-`, `context NAME` for a cluster. */
  readonly file: string;
  readonly text: string;
  /** Called only for reported positions. */
  readonly lineOf: LineFinder;
}

/** Maximum length of a text with line numbers, in characters: finding lines parses it a second time. */
const maxText = 32 * 1024 * 1024;

export function sourceOf(file: string, text: string): Source {
  return { file, text, lineOf: text.length > maxText ? () => undefined : lineFinder(text) };
}
