import { once } from "node:events";
import { Writable } from "node:stream";

/** Collects what is written. */
export class Kept extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
    this.emit("grown");
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }

  async until(wanted: RegExp): Promise<void> {
    while (!wanted.test(this.text)) await once(this, "grown");
  }
}
