import { readFileSync } from "node:fs";
import { readProblem } from "@dray/files";
import { UsageError } from "../terminal/failure.ts";

/** Reads the file of a flag. Throws a UsageError with flag, file and reason if that fails. */
export function readFlagFile(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${flag} ${file}: ${readProblem(error)}`);
  }
}
