import { Readable } from "node:stream";
// As a whole, since Node 20 lacks createZstdDecompress, and the package has to load there to report that.
import zlib from "node:zlib";
import { ByteReader } from "./bytes.ts";

export type Compression = "gzip" | "zstd" | "none";

/** Detects the compression by the first bytes. */
export function compressionOf(start: Uint8Array): Compression {
  if (start[0] === 0x1f && start[1] === 0x8b) return "gzip";
  if (start[0] === 0x28 && start[1] === 0xb5 && start[2] === 0x2f && start[3] === 0xfd) return "zstd";
  return "none";
}

/**
 * Decompresses a stream of any kind. Throws a RangeError above `maxBytes`: a few compressed bytes can fill a
 * disk.
 */
export async function* decompress(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  const reader = new ByteReader(source);
  const start = (await reader.read(4)) ?? Buffer.alloc(0);
  async function* whole(): AsyncGenerator<Buffer> {
    yield start;
    for (;;) {
      const part = await reader.some(Number.MAX_SAFE_INTEGER);
      if (part === undefined) return;
      yield part;
    }
  }
  const kind = compressionOf(start);
  let total = 0;
  for await (const chunk of kind === "none" ? whole() : inflate(whole(), kind)) {
    total += chunk.length;
    if (total > maxBytes) throw new RangeError(`more than ${maxBytes} bytes when it is decompressed`);
    yield chunk;
  }
}

async function* inflate(source: AsyncIterable<Buffer>, kind: "gzip" | "zstd"): AsyncGenerator<Buffer> {
  const from = Readable.from(source);
  const to = kind === "gzip" ? zlib.createGunzip() : zlib.createZstdDecompress();
  from.once("error", (error) => to.destroy(error));
  from.pipe(to);
  try {
    for await (const chunk of to) yield chunk as Buffer;
  } finally {
    from.destroy();
    to.destroy();
  }
}
