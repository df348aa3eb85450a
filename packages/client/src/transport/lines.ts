/** Cuts a stream of bytes into lines, without their line ends. A last line that has no end is left out. */
export async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let begun: Buffer[] = [];
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (;;) {
      const end = bytes.indexOf(10, from);
      if (end < 0) break;
      const piece = bytes.subarray(from, end);
      yield begun.length === 0 ? piece : Buffer.concat([...begun, piece]);
      begun = [];
      from = end + 1;
    }
    if (from < bytes.length) begun.push(bytes.subarray(from));
  }
}
