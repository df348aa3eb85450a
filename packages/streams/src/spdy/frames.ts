import { type HeaderReader, type Headers, HeaderWriter } from "./header-block.ts";
import { ProtocolError } from "./protocol-error.ts";

/** Frames that a session handles; SETTINGS and WINDOW_UPDATE are ignored. */
export type Frame =
  | {
      readonly type: "synStream";
      readonly stream: number;
      readonly fin: boolean;
      readonly unidirectional: boolean;
      readonly headers: Headers;
    }
  | { readonly type: "synReply"; readonly stream: number; readonly fin: boolean }
  | { readonly type: "headers"; readonly stream: number; readonly fin: boolean }
  | { readonly type: "reset"; readonly stream: number }
  | { readonly type: "ping"; readonly id: number }
  | { readonly type: "goAway" }
  /** Part of the payload of a DATA frame, as it arrives; `fin` is set only with its last part. */
  | { readonly type: "data"; readonly stream: number; readonly fin: boolean; readonly bytes: Buffer };

/** Why a stream is reset (SPDY/3 draft, section 2.6.3). */
export const resetStatus = { protocolError: 1, refusedStream: 3, cancel: 5 } as const;

const version = 3;
const types = {
  synStream: 1,
  synReply: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;
const names = new Map(Object.entries(types).map(([name, type]) => [type as number, name]));

const flagFin = 1;
const flagUnidirectional = 2;
const headLength = 8;
/** Maximum length of a control frame, in bytes. */
const maxControlBytes = 64 * 1024;

/** Splits the bytes of a connection into frames. Payloads of DATA frames are passed on without buffering. */
export class FrameParser {
  readonly #headers: HeaderReader;
  readonly #onFrame: (frame: Frame) => void;
  /** The beginning of a frame head or of a control frame. */
  #kept: Buffer = Buffer.alloc(0);
  #data: { readonly stream: number; readonly fin: boolean; left: number } | undefined;

  constructor(headers: HeaderReader, onFrame: (frame: Frame) => void) {
    this.#headers = headers;
    this.#onFrame = onFrame;
  }

  /** Throws `ProtocolError`, after which the session must end. */
  push(chunk: Buffer): void {
    let rest = chunk;
    if (this.#kept.length > 0) {
      rest = Buffer.concat([this.#kept, chunk]);
      this.#kept = Buffer.alloc(0);
    }
    for (;;) {
      if (this.#data !== undefined) {
        const { stream, fin, left } = this.#data;
        const bytes = rest.subarray(0, left);
        if (bytes.length === 0 && left > 0) return;
        rest = rest.subarray(bytes.length);
        this.#data.left -= bytes.length;
        const complete = this.#data.left === 0;
        if (complete) this.#data = undefined;
        this.#onFrame({ type: "data", stream, fin: fin && complete, bytes });
        continue;
      }
      if (rest.length < headLength) break;
      const length = rest.readUIntBE(5, 3);
      const flags = rest[4]!;
      if ((rest[0]! & 0x80) === 0) {
        const stream = rest.readUInt32BE(0);
        if (stream === 0) throw new ProtocolError("data of stream 0");
        this.#data = { stream, fin: (flags & flagFin) !== 0, left: length };
        rest = rest.subarray(headLength);
        continue;
      }
      if ((rest.readUInt16BE(0) & 0x7fff) !== version)
        throw new ProtocolError("a version that is not SPDY/3");
      if (length > maxControlBytes) throw new ProtocolError(`a control frame of ${length} bytes`);
      if (rest.length < headLength + length) break;
      const payload = rest.subarray(headLength, headLength + length);
      this.#control(rest.readUInt16BE(2), flags, payload);
      rest = rest.subarray(headLength + length);
    }
    // A copy: the chunk may be much larger.
    if (rest.length > 0) this.#kept = Buffer.from(rest);
  }

  #control(code: number, flags: number, payload: Buffer): void {
    const type = names.get(code) as keyof typeof types | undefined;
    if (type === undefined) throw new ProtocolError(`a frame of type ${code}`);
    if (payload.length < shortest[type]) throw new ProtocolError(`a ${type} frame that is too short`);
    const fin = (flags & flagFin) !== 0;
    const first = payload.readUInt32BE(0);
    const stream = first & 0x7fffffff;
    switch (type) {
      case "synStream": {
        const headers = this.#headers.read(payload.subarray(10));
        const unidirectional = (flags & flagUnidirectional) !== 0;
        this.#onFrame({ type, stream, fin, unidirectional, headers });
        return;
      }
      case "synReply":
      case "headers":
        // The headers are ignored, but the next block may refer back to them.
        this.#headers.read(payload.subarray(4));
        this.#onFrame({ type, stream, fin });
        return;
      case "reset":
        this.#onFrame({ type, stream });
        return;
      case "ping":
        this.#onFrame({ type, id: first });
        return;
      case "goAway":
        this.#onFrame({ type });
        return;
      default:
    }
  }
}

/** Minimum length of the payload, in bytes. */
const shortest: Readonly<Record<keyof typeof types, number>> = {
  synStream: 10,
  synReply: 4,
  reset: 8,
  settings: 4,
  ping: 4,
  goAway: 8,
  headers: 4,
  windowUpdate: 8,
};

/** Writes the frames of one session. */
export class FrameWriter {
  readonly #headers = new HeaderWriter();

  synStream(stream: number, headers: Headers): Buffer {
    const fixed = Buffer.alloc(10);
    fixed.writeUInt32BE(stream);
    return control(types.synStream, fixed, this.#headers.block(headers));
  }

  synReply(stream: number): Buffer {
    return control(types.synReply, numbers(stream), this.#headers.block({}));
  }

  reset(stream: number, status: number): Buffer {
    return control(types.reset, numbers(stream, status));
  }

  ping(id: number): Buffer {
    return control(types.ping, numbers(id));
  }

  goAway(lastStream: number): Buffer {
    return control(types.goAway, numbers(lastStream, 0));
  }

  /** Returns the head of a DATA frame with `length` bytes of a stream. */
  dataHead(stream: number, length: number, fin: boolean): Buffer {
    const head = Buffer.alloc(headLength);
    head.writeUInt32BE(stream);
    head[4] = fin ? flagFin : 0;
    head.writeUIntBE(length, 5, 3);
    return head;
  }
}

function control(type: number, ...payload: Buffer[]): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUInt16BE(0x8000 | version);
  head.writeUInt16BE(type, 2);
  head.writeUIntBE(
    payload.reduce((sum, { length }) => sum + length, 0),
    5,
    3,
  );
  return Buffer.concat([head, ...payload]);
}

function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at);
  return bytes;
}
