import { type BodyType, type ExpectedType, type RawBody, readBody } from "@dray/api/codec";
import { maxBodyValues, withinValueLimit } from "../request/body-limit.ts";
import type { Pause } from "../request/large-work.ts";

/** Maximum size of YAML that is parsed without a thread: it takes about as long as starting a thread. */
const maxInlineBytes = 64 * 1024;

/**
 * Parses the bytes of a request's body into a tree, as `readBody`: in pieces, and long YAML, which takes ten
 * times as long as JSON, in a thread of its own. Throws 400 BadRequest and 413.
 */
export async function readBytes(
  bytes: Uint8Array,
  type: BodyType,
  expected: ExpectedType,
  pause: Pause,
): Promise<RawBody> {
  await pause?.();
  const inThread = type === "application/yaml" && bytes.length > maxInlineBytes;
  const limited = { ...expected, maxValues: maxBodyValues };
  const reading = { pause, readYAML: inThread ? readInThread : undefined };
  return withinValueLimit(() => readBody(bytes, type, limited, reading));
}

async function readInThread(text: string): ReturnType<typeof import("../yaml/thread.ts").parseYAMLInThread> {
  const { parseYAMLInThread } = await import("../yaml/thread.ts");
  return parseYAMLInThread(text);
}
