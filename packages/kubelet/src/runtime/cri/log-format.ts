import type { LogLine } from "../service.ts";

/** Maximum length of a line that is joined from its parts, in bytes; a longer one is split. */
const maxLineBytes = 1 << 20;
const newline = Buffer.from("\n");

interface Partial {
  readonly at: number;
  parts: Buffer[];
  bytes: number;
}

/**
 * Parses the lines of a CRI log: `2016-10-06T00:17:09.669794202Z stdout F text`, where `P` instead of `F`
 * marks a partial line. Tags are divided by `:`; only the first counts.
 *
 * Upstream: pkg/kubelet/kuberuntime/logs/logs.go, parseCRILog (staging/src/k8s.io/cri-client/pkg/logs).
 */
export class LogFormat {
  readonly #partial = new Map<string, Partial>();

  /** Lines that are completed by this one. Malformed ones are skipped. */
  *read(line: Buffer): Generator<LogLine> {
    const [timeEnd, streamEnd, tagEnd] = spaces(line);
    if (timeEnd === undefined || streamEnd === undefined || tagEnd === undefined) return;
    const at = Date.parse(line.toString("latin1", 0, timeEnd));
    const stream = line.toString("latin1", timeEnd + 1, streamEnd);
    if (Number.isNaN(at) || (stream !== "stdout" && stream !== "stderr")) return;
    const [tag] = line.toString("latin1", streamEnd + 1, tagEnd).split(":");
    const end = line.at(-1) === 10 ? line.length - 1 : line.length;
    const text = line.subarray(Math.min(tagEnd + 1, end), end);
    const before = this.#partial.get(stream) ?? { at, parts: [], bytes: 0 };
    before.parts.push(Buffer.from(text));
    before.bytes += text.length;
    if (tag === "P" && before.bytes < maxLineBytes) {
      this.#partial.set(stream, before);
      return;
    }
    this.#partial.delete(stream);
    if (tag !== "P") before.parts.push(newline);
    yield { at: before.at, text: Buffer.concat(before.parts) };
  }

  /** Partial lines without an end. */
  *rest(): Generator<LogLine> {
    for (const { at, parts } of this.#partial.values()) yield { at, text: Buffer.concat(parts) };
    this.#partial.clear();
  }
}

/** Positions of the first three spaces; the third may be missing after an empty text. */
function spaces(line: Buffer): (number | undefined)[] {
  const first = line.indexOf(32);
  const second = first < 0 ? -1 : line.indexOf(32, first + 1);
  if (second < 0) return [];
  const third = line.indexOf(32, second + 1);
  const end = line.at(-1) === 10 ? line.length - 1 : line.length;
  return [first, second, third < 0 ? end : third];
}
