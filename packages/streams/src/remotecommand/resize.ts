/** Size of a terminal, in characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Maximum length of a partial message that is buffered, in characters. */
const maxMessageLength = 4096;

/**
 * Parses the sizes on a resize stream: JSON objects `{"Width":80,"Height":24}` one after the other. Ends at
 * invalid input.
 */
export async function* terminalSizes(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<TerminalSize, void, undefined> {
  let text = "";
  try {
    for await (const chunk of chunks) {
      text += Buffer.from(chunk).toString("utf8");
      for (;;) {
        const end = text.indexOf("}");
        if (end < 0) break;
        const size = parse(text.slice(0, end + 1));
        if (size === undefined) return;
        text = text.slice(end + 1);
        yield size;
      }
      if (text.length > maxMessageLength) return;
    }
  } catch {
    // The connection broke: there are no more sizes.
  }
}

/** One message of a resize stream. */
export function resizeMessage({ width, height }: TerminalSize): Buffer {
  return Buffer.from(`{"Width":${width},"Height":${height}}\n`);
}

function parse(text: string): TerminalSize | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  // Go matches the names of fields in any case.
  const fields = Object.fromEntries(
    Object.entries(message as object).map(([name, value]) => [name.toLowerCase(), value as unknown]),
  );
  const { width = 0, height = 0 } = fields;
  return isSize(width) && isSize(height) ? { width, height } : undefined;
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0xffff;
}
