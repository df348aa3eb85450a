import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** A request as the recorded scenarios have it. */
export interface Step {
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly accept?: string;
  readonly body?: unknown;
  readonly rawBody?: string;
  readonly base64Body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
}

const folder = join(import.meta.dirname, "../../conformance/api");

/** The requests of the recorded API scenarios: what mutations begin with. */
export function readCorpus(): readonly Scenario[] {
  return readdirSync(folder)
    .filter((name) => /\.jsonl(\.gz)?$/.test(name))
    .sort()
    .flatMap((name) => {
      const bytes = readFileSync(join(folder, name));
      const text = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Scenario);
    });
}
