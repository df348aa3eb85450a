/** Frames a message for TCP, with its length in two bytes (RFC 1035, 4.2.2). */
export function messageFrame(message: Buffer): Buffer {
  const frame = Buffer.alloc(message.length + 2);
  frame.writeUInt16BE(message.length, 0);
  message.copy(frame, 2);
  return frame;
}

/** Extracts messages from a TCP stream. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Returns the messages that are complete. */
  read(data: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, data]);
    const messages: Buffer[] = [];
    for (;;) {
      if (this.#rest.length < 2) return messages;
      const end = 2 + this.#rest.readUInt16BE(0);
      if (this.#rest.length < end) return messages;
      messages.push(Buffer.from(this.#rest.subarray(2, end)));
      this.#rest = this.#rest.subarray(end);
    }
  }
}
