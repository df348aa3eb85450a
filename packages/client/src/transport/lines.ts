/** Splits a stream of bytes into lines without their line ends. A last line without an end is dropped. */
export async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let parts: Buffer[] = [];
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(10, start);
      if (end < 0) break;
      const piece = bytes.subarray(start, end);
      yield parts.length === 0 ? piece : Buffer.concat([...parts, piece]);
      parts = [];
      start = end + 1;
    }
    if (start < bytes.length) parts.push(bytes.subarray(start));
  }
}
