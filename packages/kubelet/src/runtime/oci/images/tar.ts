import { ByteReader } from "./bytes.ts";

/** An entry of a tar archive. Names are bytes as latin1 text, since they need not be UTF-8. */
export interface TarEntry {
  readonly name: string;
  readonly type: "file" | "link" | "symlink" | "character" | "block" | "directory" | "fifo";
  /** Permission bits with set-user-ID, set-group-ID and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Size of the content in bytes. */
  readonly size: number;
  /** Seconds since the epoch. */
  readonly mtime: number;
  /** Target of a link; empty for others. */
  readonly linkName: string;
  readonly major: number;
  readonly minor: number;
  readonly xattrs: ReadonlyMap<string, Buffer>;
  /** The content, which can be read once; the rest is skipped with the next entry. */
  readonly content: AsyncIterable<Buffer>;
}

/** The archive is damaged, or has entries that images must not have. */
export class TarError extends Error {
  override readonly name = "TarError";
}

const blockSize = 512;
/** Maximum size in bytes of names and attributes before an entry. */
const maxHeaderBytes = 1 << 20;

const types = new Map<string, TarEntry["type"]>([
  ["0", "file"],
  ["\0", "file"],
  ["7", "file"],
  ["1", "link"],
  ["2", "symlink"],
  ["3", "character"],
  ["4", "block"],
  ["5", "directory"],
  ["6", "fifo"],
]);

/**
 * Reads a tar archive (ustar, pax, GNU long names) to its end, without holding contents in memory. Throws
 * TarError.
 *
 * Written here because layers need the extended attributes of pax headers as bytes (file capabilities are
 * binary), and a limit of the headers' size: common libraries decode attributes as text and read headers of
 * any size into memory.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const bytes = new ByteReader(source);
  let global = new Map<string, Buffer>();
  let pax = new Map<string, Buffer>();
  let longName: string | undefined;
  let longLink: string | undefined;
  for (;;) {
    const block = await bytes.read(blockSize);
    // Two blocks of zeros end an archive; some writers omit them.
    if (block === undefined) return;
    if (block.length < blockSize) throw new TarError("the tar archive ends within a header");
    if (block.every((byte) => byte === 0)) {
      await bytes.skipAll();
      return;
    }
    checkSum(block);
    const flag = text(block, 156, 1) || "\0";
    const records = new Map([...global, ...pax]);
    const size = paxNumber(records, "size") ?? number(block, 124, 12, "size");
    const what = longName ?? nameOf(block);
    if (!Number.isSafeInteger(size) || size < 0)
      throw new TarError(`tar entry ${shown(what)}: its size ${size} is not possible`);
    if (flag === "x" || flag === "g" || flag === "L" || flag === "K") {
      const ownSize = number(block, 124, 12, "size");
      if (!(ownSize >= 0 && ownSize <= maxHeaderBytes))
        throw new TarError(
          `a header of the tar archive has ${ownSize} bytes; at most ${maxHeaderBytes} are read`,
        );
      const data = await bytes.read(ownSize);
      if (data === undefined || data.length < ownSize || !(await bytes.skip(padding(ownSize))))
        throw new TarError("the tar archive ends within a header");
      if (flag === "g") global = paxRecords(data);
      else if (flag === "x") pax = paxRecords(data);
      else if (flag === "L") longName = text(data, 0, ownSize);
      else longLink = text(data, 0, ownSize);
      continue;
    }
    const name = records.get("path")?.toString("latin1") ?? what;
    const type =
      flag !== "5" && types.get(flag) === "file" && name.endsWith("/") ? "directory" : types.get(flag);
    if (type === undefined)
      throw new TarError(`tar entry ${shown(name)}: type ${JSON.stringify(flag)} is not supported`);
    if ([...records.keys()].some((key) => key.startsWith("GNU.sparse.")))
      throw new TarError(`tar entry ${shown(name)}: sparse files are not supported`);
    const linkName = records.get("linkpath")?.toString("latin1") ?? longLink ?? text(block, 157, 100);
    if (name.includes("\0") || linkName.includes("\0"))
      throw new TarError(`tar entry ${shown(name)}: its name has a zero byte`);
    // Other entries have no content, whatever their size field.
    const length = type === "file" ? size : 0;
    let left = length;
    const content = (async function* () {
      while (left > 0) {
        const chunk = await bytes.some(left);
        if (chunk === undefined)
          throw new TarError(`the tar archive ends ${left} bytes before the end of ${shown(name)}`);
        left -= chunk.length;
        yield chunk;
      }
    })();
    yield {
      name,
      type,
      mode: number(block, 100, 8, "mode") & 0o7777,
      uid: paxNumber(records, "uid") ?? number(block, 108, 8, "uid"),
      gid: paxNumber(records, "gid") ?? number(block, 116, 8, "gid"),
      size: length,
      mtime: paxNumber(records, "mtime") ?? number(block, 136, 12, "mtime"),
      linkName,
      major: number(block, 329, 8, "devmajor"),
      minor: number(block, 337, 8, "devminor"),
      xattrs: xattrsOf(records),
      content,
    };
    if (!(await bytes.skip(left)))
      throw new TarError(`the tar archive ends ${left} bytes before the end of ${shown(name)}`);
    if (!(await bytes.skip(padding(length)))) throw new TarError("the tar archive ends within an entry");
    pax = new Map();
    longName = undefined;
    longLink = undefined;
  }
}

/** Formats a name of an archive for messages. */
export function shown(name: string): string {
  const utf8 = Buffer.from(name, "latin1").toString("utf8");
  return JSON.stringify(utf8.length > 200 ? `${utf8.slice(0, 200)}...` : utf8);
}

function padding(size: number): number {
  return (blockSize - (size % blockSize)) % blockSize;
}

function text(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString("latin1", 0, end < 0 ? field.length : end);
}

function nameOf(block: Buffer): string {
  const name = text(block, 0, 100);
  // Only the POSIX format has a prefix there; GNU's has times.
  const prefix = text(block, 257, 6) === "ustar" && block[262] === 0 ? text(block, 345, 155) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Octal digits, or a big-endian number with the highest bit set (GNU). */
function number(block: Buffer, start: number, length: number, field: string): number {
  const bytes = block.subarray(start, start + length);
  if ((bytes[0]! & 0x80) !== 0) {
    const negative = (bytes[0]! & 0x40) !== 0;
    let value = BigInt(`0x${bytes.toString("hex")}`) & ((1n << BigInt(length * 8 - 1)) - 1n);
    if (negative) value -= 1n << BigInt(length * 8 - 1);
    return Number(value);
  }
  const digits = bytes
    .toString("latin1")
    .replace(/\0[\s\S]*$/, "")
    .trim();
  if (digits === "") return 0;
  if (!/^[0-7]+$/.test(digits))
    throw new TarError(
      `tar entry ${shown(nameOf(block))}: its ${field} ${JSON.stringify(digits)} is not octal`,
    );
  return Number.parseInt(digits, 8);
}

function checkSum(block: Buffer): void {
  let sum = 0;
  for (let i = 0; i < blockSize; i++) sum += i >= 148 && i < 156 ? 32 : block[i]!;
  const wanted = Number.parseInt(text(block, 148, 8).trim(), 8);
  if (sum !== wanted)
    throw new TarError("a header of the tar archive has a wrong checksum: it is damaged, or no tar archive");
}

/** Records are `LENGTH KEY=VALUE\n`; the length is that of the whole record. */
function paxRecords(data: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(0x20, at);
    const length = space < 0 ? Number.NaN : Number(data.toString("latin1", at, space));
    const end = at + length - 1;
    const equals = data.indexOf(0x3d, space);
    if (
      !Number.isSafeInteger(length) ||
      end >= data.length ||
      data[end] !== 0x0a ||
      equals < 0 ||
      equals > end
    )
      throw new TarError("an extended header of the tar archive is damaged");
    records.set(data.toString("utf8", space + 1, equals), data.subarray(equals + 1, end));
    at = end + 1;
  }
  return records;
}

function paxNumber(records: ReadonlyMap<string, Buffer>, key: string): number | undefined {
  const value = records.get(key)?.toString("latin1");
  if (value === undefined || value === "") return undefined;
  const result = Number(value);
  if (!Number.isFinite(result))
    throw new TarError(`the extended header ${key}=${JSON.stringify(value.slice(0, 40))} is not a number`);
  return result;
}

const xattrPrefix = "SCHILY.xattr.";

function xattrsOf(records: ReadonlyMap<string, Buffer>): Map<string, Buffer> {
  return new Map(
    [...records]
      .filter(([key]) => key.startsWith(xattrPrefix))
      .map(([key, value]) => [key.slice(xattrPrefix.length), Buffer.from(value)]),
  );
}
