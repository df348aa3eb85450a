/** Start of a program for this machine, with the segments that say how it takes a library. */
export function elfProgram({
  interpreter = false,
  note,
  machine = process.arch === "arm64" ? 183 : 62,
}: {
  readonly interpreter?: boolean;
  /** Name of a note, four bytes. */
  readonly note?: string;
  readonly machine?: number;
}): Buffer {
  const types = [1, ...(interpreter ? [3] : []), ...(note === undefined ? [] : [4])];
  const program = Buffer.alloc(64 + types.length * 56 + 20);
  program.write("\x7fELF\x02\x01\x01", "latin1");
  program.writeUInt16LE(machine, 18);
  program.writeBigUInt64LE(64n, 32);
  program.writeUInt16LE(56, 54);
  program.writeUInt16LE(types.length, 56);
  const data = 64 + types.length * 56;
  for (const [index, type] of types.entries()) {
    const at = 64 + index * 56;
    program.writeUInt32LE(type, at);
    program.writeBigUInt64LE(BigInt(data), at + 8);
    program.writeBigUInt64LE(20n, at + 32);
  }
  if (note !== undefined) {
    program.writeUInt32LE(note.length, data);
    program.write(note, data + 12, "latin1");
  }
  return program;
}
