import { constants, inflateRawSync } from "node:zlib";
import { headerDictionary } from "./dictionary.ts";
import { ProtocolError } from "./protocol-error.ts";

/** Names in lower case. Several values of one name are joined by a zero byte, as on the wire. */
export type Headers = Readonly<Record<string, string>>;

/** Maximum distance of a back-reference in compressed data (RFC 1951). */
const windowSize = 32 * 1024;
/** Maximum unpacked length of a header block, in bytes. Those of Kubernetes have a few hundred. */
const maxBlockBytes = 64 * 1024;
/** Maximum length of a stored block (RFC 1951, 3.2.4), in bytes. */
const maxStoredBytes = 0xffff;

/** zlib head (RFC 1950): deflate with a window of 32 KiB, without a preset dictionary. */
const zlibHead = Buffer.from([0x78, 0x01]);
/** An empty stored block, at which a reader flushes its output. */
const flush = Buffer.from([0, 0, 0, 0xff, 0xff]);

/**
 * Writes the header blocks of one session: one zlib stream of stored blocks, which every reader accepts. The
 * headers are few and short, so compression would cost more than it saves.
 */
export class HeaderWriter {
  #begun = false;

  block(headers: Headers): Buffer {
    const names = Object.keys(headers);
    const parts: Buffer[] = [number(names.length)];
    for (const name of names) {
      for (const each of [name.toLowerCase(), headers[name]!])
        for (const part of text(each)) parts.push(part);
    }
    const plain = Buffer.concat(parts);
    const stored: Buffer[] = this.#begun ? [] : [zlibHead];
    this.#begun = true;
    for (let at = 0; at < plain.length; at += maxStoredBytes) {
      const part = plain.subarray(at, at + maxStoredBytes);
      const head = Buffer.alloc(5);
      head.writeUInt16LE(part.length, 1);
      head.writeUInt16LE(~part.length & 0xffff, 3);
      stored.push(head, part);
    }
    return Buffer.concat([...stored, flush]);
  }
}

function text(value: string): [Buffer, Buffer] {
  const bytes = Buffer.from(value, "utf8");
  return [number(bytes.length), bytes];
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/**
 * Reads the header blocks of one session. They are one zlib stream, flushed to a whole byte after each block
 * (Z_SYNC_FLUSH): to decode a block the last 32 KiB of earlier output suffice.
 */
export class HeaderReader {
  #window = headerDictionary;
  #begun = false;

  /** Throws `ProtocolError` for an invalid or too large header block. */
  read(packed: Buffer): Headers {
    let body = packed;
    if (!this.#begun) {
      if (packed.length < 2 || (packed[0]! & 0x0f) !== 8)
        throw new ProtocolError("headers that are not zlib");
      // The flag FDICT: the checksum of the dictionary follows.
      const usesDictionary = (packed[1]! & 0x20) !== 0;
      body = packed.subarray(usesDictionary ? 6 : 2);
      this.#begun = true;
    }
    let plain: Buffer;
    try {
      plain = inflateRawSync(body, {
        dictionary: this.#window,
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: maxBlockBytes,
      });
    } catch (error) {
      throw new ProtocolError("headers that cannot be unpacked", { cause: error });
    }
    this.#window = Buffer.concat([this.#window, plain]).subarray(-windowSize);
    return parse(plain);
  }
}

function parse(plain: Buffer): Headers {
  const headers: Record<string, string> = Object.create(null);
  let at = 0;
  const next = (length: number): Buffer => {
    if (at + length > plain.length) throw new ProtocolError("headers that end too early");
    at += length;
    return plain.subarray(at - length, at);
  };
  const value = (): string => next(next(4).readUInt32BE()).toString("utf8");
  for (let left = next(4).readUInt32BE(); left > 0; left--) {
    const name = value().toLowerCase();
    headers[name] = value();
  }
  return headers;
}
