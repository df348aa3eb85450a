import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Outcome } from "./play.ts";

const repository = join(import.meta.dirname, "..");
const folder = join(repository, "examples", "tests");
const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "dray");

interface Example {
  readonly name: string;
  readonly directory: string;
  /** The command that runs it; undefined where this machine lacks what it needs. */
  command(): readonly string[] | undefined;
}

/** The examples of tests in other languages, as their readers run them. */
const examples: readonly Example[] = [
  {
    name: "example: tests in Go",
    directory: "go",
    command: () =>
      spawnSync("go", ["version"]).status === 0 ? ["go", "test", "-mod=mod", "-count=1", "./..."] : undefined,
  },
  {
    name: "example: tests in Python",
    directory: "python",
    command() {
      const environment = join(cache, "python-example");
      const python = join(environment, "bin", "python");
      const run = (...words: string[]): boolean => spawnSync(words[0]!, words.slice(1)).status === 0;
      if (!existsSync(python) && !run("python3", "-m", "venv", environment)) return undefined;
      if (!run(python, "-m", "pip", "install", "--quiet", "kubernetes==34.1.0")) return undefined;
      return [python, "-m", "unittest", "-v"];
    },
  },
];

/** Runs the examples whose names match, one after the other. */
export async function runExamples(
  only: RegExp | undefined,
  ended: (outcome: Outcome) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { name, directory, command } of examples.filter((one) => only?.test(one.name) ?? true)) {
    const words = command();
    if (words === undefined) continue;
    const began = performance.now();
    const failure = await run(words, join(folder, directory));
    const seconds = (performance.now() - began) / 1000;
    const outcome = { name, seconds, ...(failure === undefined ? {} : { failure }) };
    outcomes.push(outcome);
    ended(outcome);
  }
  return outcomes;
}

/** Resolves to the end of the output if the program fails. */
async function run([program = "", ...args]: readonly string[], cwd: string): Promise<string | undefined> {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, DRAY: `node ${join(repository, "bin", "dray.js")}` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-2000);
    });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return code === 0 ? undefined : output;
}
