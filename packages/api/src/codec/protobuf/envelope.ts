import type { Pauses } from "../../json/parser.ts";
import { countValues } from "../../json/value-count.ts";
import type { Decoded } from "../decode.ts";
import { DecodeError } from "../decode-error.ts";
import { messageReader } from "./decode.ts";
import { writeStruct } from "./encode.ts";
import { envelopeType } from "./message.ts";
import { Reader, unfinished } from "./reader.ts";
import { BackwardWriter, wire } from "./writer.ts";

/** The first bytes of every object in protobuf: `k8s` and a zero. */
const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/** Shared: writing is synchronous. */
const writer = new BackwardWriter();

/** Begins with the object in its envelope (runtime.Unknown). */
function writeEnvelope(object: object): void {
  const { apiVersion = "", kind = "" } = object as { apiVersion?: string; kind?: string };
  const struct = envelopeType(apiVersion, kind);
  writer.clear();
  writer.textField(4, "");
  writer.textField(3, "");
  const raw = writer.written;
  writeStruct(writer, object, struct);
  writer.block(2, raw);
  const typeMeta = writer.written;
  writer.textField(2, kind);
  writer.textField(1, apiVersion);
  writer.block(1, typeMeta);
  writer.raw(magic);
}

/**
 * An object, a list or a body such as DeleteOptions in the protobuf form of Kubernetes, byte for byte as Go
 * writes it. Its `apiVersion` and `kind` say what it is. Throws DecodeError for a kind that the schema lacks,
 * TypeError for one that has no protobuf form (Table).
 */
export function encodeProtobuf(object: object): Uint8Array {
  writeEnvelope(object);
  return writer.finish();
}

/**
 * One event of a watch in protobuf: the length in four bytes, big end first, then a WatchEvent of meta/v1
 * that holds the object in its envelope.
 */
export function protobufWatchFrame(type: string, object: object): Uint8Array {
  writeEnvelope(object);
  writer.block(1, 0);
  writer.block(2, 0);
  writer.textField(1, type);
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(writer.written);
  writer.raw(length);
  return writer.finish();
}

/** `apiVersion` and `kind` where the bytes have none, and the maximum number of fields, keys and elements. */
interface Expected {
  readonly apiVersion: string;
  readonly kind: string;
  readonly maxValues?: number;
}

/** A message as an object, and the details that the object does not show. */
export interface DecodedMessage extends Pick<Decoded, "object" | "provenance"> {
  /** How many fields, keys and elements the object has; undefined if it is too small for the limit. */
  readonly values: number | undefined;
}

/** An object whose bytes are not read yet. */
interface Envelope {
  readonly reader: Reader;
  /** Throws `unfinished` where the reader has pieces, and a pause is due. */
  readonly read: () => DecodedMessage;
}

/**
 * The object in such bytes, with its `apiVersion` and `kind`, in the form in which the API server writes
 * JSON. Fields that the release `version` does not have are skipped, and unknown ones, as Go does.
 * Throws DecodeError and TooManyValuesError.
 */
export function decodeProtobuf(
  bytes: Uint8Array,
  version?: string,
  expected: Expected = { apiVersion: "", kind: "" },
): DecodedMessage {
  return openEnvelope(bytes, version, expected).read();
}

/** Reads an object like `decodeProtobuf`, with a pause wherever one is due; without `pause` all at once. */
export async function decodeProtobufInPieces(
  bytes: Uint8Array,
  version: string | undefined,
  expected: Expected,
  pause: Pauses | undefined,
): Promise<DecodedMessage> {
  const { reader, read } = openEnvelope(bytes, version, expected);
  if (pause === undefined) return read();
  reader.pieces = { isDue: pause.isDue, begun: new Map() };
  for (;;) {
    try {
      return read();
    } catch (error) {
      if (error !== unfinished) throw error;
    }
    await pause();
  }
}

function openEnvelope(
  bytes: Uint8Array,
  version: string | undefined,
  { maxValues = Number.POSITIVE_INFINITY, ...expected }: Expected,
): Envelope {
  if (bytes.length === 0) throw new DecodeError("empty data");
  if (bytes.length < magic.length || magic.some((byte, i) => bytes[i] !== byte)) {
    throw new DecodeError(
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    );
  }
  if (bytes.length === magic.length) throw new DecodeError("empty body");
  const reader = new Reader(bytes.subarray(magic.length));
  reader.maxValues = maxValues;
  const end = reader.bytes.length;
  let [apiVersion, kind] = ["", ""];
  let raw = { from: 0, to: 0 };
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (tag === 8 + wire.block) {
      const to = reader.block(end);
      while (reader.at < to) {
        const inner = reader.tag(to);
        if (inner === 8 + wire.block) apiVersion = reader.text(reader.block(to));
        else if (inner === 16 + wire.block) kind = reader.text(reader.block(to));
        else reader.skip(inner, to);
      }
    } else if (tag === 16 + wire.block) {
      const to = reader.block(end);
      raw = { from: reader.at, to };
      reader.at = to;
    } else if (tag >>> 3 <= 2) {
      reader.fail(
        `wrong wire type ${tag & 7} for field ${tag >>> 3} of the envelope, expected ${wire.block}`,
      );
    } else reader.skip(tag, end);
  }
  apiVersion ||= expected.apiVersion;
  kind ||= expected.kind;
  const struct = envelopeType(apiVersion, kind);
  const message = messageReader(struct, version);
  return {
    reader,
    read() {
      reader.resumeAt(raw.from);
      const object = { apiVersion, kind, ...(message(reader, raw.to) as object) };
      // Each takes a byte at least.
      const values = bytes.length > maxValues ? countValues(object, maxValues) : undefined;
      return { object, provenance: reader.provenance, values };
    },
  };
}
