import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** How the values of a field lie on the wire. */
export interface Kind<T> {
  readonly wire: WireType;
  /** Default of an absent field. */
  readonly absent: T;
  write(writer: BinaryWriter, value: T): void;
  read(reader: BinaryReader): T;
}

export interface Field<T> {
  readonly number: number;
  readonly absent: T;
  write(writer: BinaryWriter, value: T): void;
  /** The value after what the reader is at, `before` being what earlier parts of the message gave. */
  read(reader: BinaryReader, before: T): T;
}

type Values<F> = { [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** Input of the encoder: a message without the fields that are absent. */
export type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: Given<T[K]> }
    : T;

/** A message that can be a field of another. `encode` leaves out what is not given. */
export interface Message<T> extends Kind<T | undefined> {
  encode(value: Given<T>): Buffer;
  /** Unknown fields are skipped; throws on malformed bytes. */
  decode(bytes: Uint8Array): T;
}

/** Fields of a message. */
export type Of<M> = M extends Message<infer T> ? T : never;

export const text: Kind<string> = {
  wire: WireType.LengthDelimited,
  absent: "",
  write: (writer, value) => writer.string(value),
  read: (reader) => reader.string(),
};

/** An int64 that stays below 2^53: a revision, a count, a number of seconds. */
export const integer: Kind<number> = {
  wire: WireType.Varint,
  absent: 0,
  write: (writer, value) => writer.int64(value),
  read: (reader) => Number(reader.int64()),
};

/** An int64 that needs all its bits: the identity of a lease. */
export const identity: Kind<bigint> = {
  wire: WireType.Varint,
  absent: 0n,
  write: (writer, value) => writer.int64(value),
  read: (reader) => BigInt(reader.int64()),
};

export const flag: Kind<boolean> = {
  wire: WireType.Varint,
  absent: false,
  write: (writer, value) => writer.bool(value),
  read: (reader) => reader.bool(),
};

export function one<T>(number: number, kind: Kind<T>): Field<T> {
  return {
    number,
    absent: kind.absent,
    write(writer, value) {
      writer.tag(number, kind.wire);
      kind.write(writer, value);
    },
    read: (reader) => kind.read(reader),
  };
}

/** A repeated field. */
export function many<T>(number: number, kind: Kind<T>): Field<readonly NonNullable<T>[]> {
  const single = one(number, kind);
  return {
    number,
    absent: [],
    write(writer, values) {
      for (const value of values) single.write(writer, value);
    },
    read(reader, before) {
      const values = before.length === 0 ? [] : (before as NonNullable<T>[]);
      values.push(kind.read(reader) as NonNullable<T>);
      return values;
    },
  };
}

/** A message of protocol buffers, from a table of its fields. */
export function message<F extends Record<string, Field<unknown>>>(fields: F): Message<Values<F>> {
  const named = Object.entries(fields);
  const byNumber = new Map(named.map(([name, field]) => [field.number, { name, field }]));

  const write = (writer: BinaryWriter, value: Record<string, unknown>): void => {
    for (const [name, field] of named) if (value[name] !== undefined) field.write(writer, value[name]);
  };
  const read = (reader: BinaryReader, end: number): Values<F> => {
    const value: Record<string, unknown> = {};
    for (const [name, field] of named) value[name] = field.absent;
    while (reader.pos < end) {
      const [number, wire] = reader.tag();
      const known = byNumber.get(number);
      if (known === undefined) reader.skip(wire, number);
      else value[known.name] = known.field.read(reader, value[known.name]);
    }
    return value as Values<F>;
  };

  return {
    wire: WireType.LengthDelimited,
    absent: undefined,
    write(writer, value) {
      writer.fork();
      if (value !== undefined) write(writer, value);
      writer.join();
    },
    read(reader) {
      const length = reader.uint32();
      return read(reader, reader.pos + length);
    },
    encode(value) {
      const writer = new BinaryWriter();
      write(writer, value as Record<string, unknown>);
      return Buffer.from(writer.finish());
    },
    decode: (bytes) => read(new BinaryReader(bytes), bytes.length),
  };
}
