import { closeSync, openSync, readSync } from "node:fs";
import { endianness } from "node:os";
import { basename } from "node:path";

/** How a program file takes the loader library. */
export type ProgramKind =
  /** With its libraries. */
  | "dynamic"
  /** It has no libraries. */
  | "static"
  /** Go's own system calls pass by all libraries. */
  | "go"
  /** It is of another kind of machine, whose libraries are others. */
  | "foreign";

/** A program that is started, behind the scripts that name it. */
export interface ProgramFile {
  /** Path on the machine. */
  readonly path: string;
  readonly kind: ProgramKind;
}

/** Finds the file of a program's name: a path, or a name in PATH; undefined without one. */
export type FindProgram = (name: string) => string | undefined;

/** A script's interpreter may be a script. Upstream: Linux, fs/exec.c, exec_binprm. */
const maxInterpreters = 5;

/** Looks at the file of a program. Returns undefined if it cannot be read. */
export function inspectProgram(name: string, find: FindProgram): ProgramFile | undefined {
  let path = find(name);
  for (let depth = 0; path !== undefined && depth < maxInterpreters; depth++) {
    const start = readStart(path, 4096);
    if (start === undefined) return undefined;
    const words = interpreterOf(start);
    if (words === undefined) return { path, kind: kindOf(start, path) };
    const [interpreter = "", ...args] = words;
    // `#!/usr/bin/env -S node --flag`
    const program = args.find((word) => !word.startsWith("-") && !word.includes("="));
    const isEnv = basename(interpreter) === "env" && program !== undefined;
    path = find(isEnv ? program : interpreter);
  }
  return undefined;
}

function readStart(path: string, length: number, position = 0): Buffer | undefined {
  try {
    const file = openSync(path, "r");
    try {
      const buffer = Buffer.alloc(length);
      return buffer.subarray(0, readSync(file, buffer, 0, length, position));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

function interpreterOf(start: Buffer): string[] | undefined {
  if (start.toString("latin1", 0, 2) !== "#!") return undefined;
  const [line = ""] = start.toString("utf8", 2).split("\n");
  return line.trim().split(/\s+/);
}

const elfMagic = "\x7fELF";
const class64 = 2;
const littleEndian = 1;
/** Numbers of machines. */
const machines: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };
const segmentTypes = { interpreter: 3, note: 4 };

/** A file that only a shell can run counts as dynamic, as the shell is. */
function kindOf(start: Buffer, path: string): ProgramKind {
  if (start.toString("latin1", 0, 4) !== elfMagic || start.length < 64) return "dynamic";
  if (start[4] !== class64 || start[5] !== littleEndian || endianness() !== "LE") return "foreign";
  if (start.readUInt16LE(18) !== machines[process.arch]) return "foreign";
  const segments = segmentsOf(start, path);
  if (segments.some(({ type, offset, size }) => type === segmentTypes.note && isGoNote(path, offset, size)))
    return "go";
  return segments.some(({ type }) => type === segmentTypes.interpreter) ? "dynamic" : "static";
}

/** A program header. Upstream: elf(5), Elf64_Phdr. */
interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
}

function segmentsOf(header: Buffer, path: string): Segment[] {
  const [size, count] = [header.readUInt16LE(54), header.readUInt16LE(56)];
  const table = readStart(path, size * count, Number(header.readBigUInt64LE(32))) ?? Buffer.alloc(0);
  return Array.from({ length: Math.floor(table.length / Math.max(size, 56)) }, (_, index) => {
    const at = index * size;
    return {
      type: table.readUInt32LE(at),
      offset: Number(table.readBigUInt64LE(at + 8)),
      size: Number(table.readBigUInt64LE(at + 32)),
    };
  });
}

/** Go's linker gives each program a note with the name "Go". Upstream: cmd/internal/buildid. */
function isGoNote(path: string, offset: number, size: number): boolean {
  const notes = readStart(path, Math.min(size, 4096), offset);
  for (let at = 0; notes !== undefined && at + 16 <= notes.length; ) {
    const [nameSize, dataSize] = [notes.readUInt32LE(at), notes.readUInt32LE(at + 4)];
    if (notes.toString("latin1", at + 12, at + 12 + nameSize) === "Go\0\0") return true;
    at += 12 + padded(nameSize) + padded(dataSize);
  }
  return false;
}

function padded(size: number): number {
  return (size + 3) & ~3;
}
