import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseJSON } from "@dray/api/codec";

const sources = join(import.meta.dirname, "oracle");

/**
 * The program that answers with Kubernetes' own libraries: what DRAY_ORACLE names, or `oracle/` built into a
 * cache, which takes minutes the first time. Undefined if Go is missing; throws if the build fails.
 */
export function oracleProgram(): string | undefined {
  const named = process.env["DRAY_ORACLE"];
  if (named !== undefined && named !== "") return named;
  if (spawnSync("go", ["version"]).status !== 0) return undefined;
  const digest = createHash("sha256");
  for (const name of readdirSync(sources).sort()) digest.update(readFileSync(join(sources, name)));
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const program = join(cache, "dray", "oracle", digest.digest("hex").slice(0, 16));
  if (existsSync(program)) return program;
  mkdirSync(join(cache, "dray", "oracle"), { recursive: true });
  process.stderr.write("building conformance/oracle (minutes, once) ...\n");
  const { status, stderr } = spawnSync("go", ["build", "-o", program, "."], {
    cwd: sources,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`go build in ${sources} failed:\n${stderr}`);
  return program;
}

/** Reply of the oracle: an answer, or the reason why it has none, for example a panic of the library. */
export interface OracleAnswer {
  readonly answer?: Readonly<Record<string, unknown>>;
  readonly fault?: string;
}

/** A running oracle. It answers in order. */
export class Oracle implements Disposable {
  readonly #child;
  readonly #waiting: { resolve(line: string): void; reject(error: Error): void }[] = [];

  constructor(program: string) {
    this.#child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
    const fail = (error: Error): void => {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    };
    this.#child.on("error", fail);
    this.#child.stdin.on("error", fail);
    this.#child.on("exit", (code, signal) => fail(new Error(`the oracle ended with ${code ?? signal}`)));
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#waiting.shift()?.resolve(line));
  }

  /** The question is text, and whole numbers of the answer may be bigints: no digit is lost. */
  async ask(question: string): Promise<OracleAnswer> {
    const line = new Promise<string>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#child.stdin.write(`${question}\n`);
    return parseJSON(await line) as OracleAnswer;
  }

  [Symbol.dispose](): void {
    this.#child.stdin.end();
  }
}
