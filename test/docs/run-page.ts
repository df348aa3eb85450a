import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Block, blocksOf } from "./markdown.ts";

export interface PageRun {
  /** Standard output and error of the commands together, by the line of their block. */
  readonly output: ReadonlyMap<number, string>;
  /** Blocks of commands that are not for this machine, with the reason that the page gives. */
  readonly left: readonly string[];
}

/**
 * Does in `folder` what a reader of the page does: writes the files that it shows, and runs its commands in
 * one shell. Rejects with the output of the command that failed. In a block of the language `console` what
 * stands behind `$ ` is a command, and the rest what it prints, which must be just that unless the page says
 * that it varies.
 */
export async function runPage(
  path: string,
  folder: string,
  env: NodeJS.ProcessEnv,
  run: RunScript = bash,
): Promise<PageRun> {
  const script = ["set -euo pipefail"];
  const left: string[] = [];
  const expected = new Map<number, string>();
  for (const block of blocksOf(path)) {
    const { language, text, line, note, file } = block;
    if (note?.startsWith("not executed: ")) left.push(`${path}:${line}: ${note.slice(14)}`);
    else if (language === "sh") script.push(marker(line), text);
    else if (language === "console") {
      const { commands, output } = transcript(block);
      script.push(marker(line), ...commands);
      if (note !== "output varies") expected.set(line, output);
    } else if (file !== undefined) {
      // Written from the script: the commands before may have changed the folder.
      const source = join(folder, `.page-${line}`);
      mkdirSync(dirname(source), { recursive: true });
      writeFileSync(source, text);
      script.push(`mkdir -p "$(dirname '${file}')"`, `cp '${source}' '${file}'`);
    }
  }
  const { output: all, problem } = await run(script.join("\n"), folder, env);
  if (problem !== undefined) {
    const line = all.split("::block ").at(-1)?.split("\n")[0];
    throw new Error(`${path}:${line}: a command failed (${problem}):\n${all.slice(-4000)}`);
  }
  const output = new Map(
    all
      .split(/^::block /m)
      .slice(1)
      .map((part): [number, string] => {
        const [line, ...rest] = part.split("\n");
        return [Number(line), rest.join("\n")];
      }),
  );
  for (const [line, text] of expected) {
    const printed = output.get(line) ?? "";
    if (withoutBlankLines(printed) !== withoutBlankLines(text))
      throw new Error(`${path}:${line}: the page shows\n${text}\nand the commands print\n${printed}`);
  }
  return { output, left };
}

/** Runs a script with bash, its standard error in its output. */
export type RunScript = (script: string, cwd: string, env: NodeJS.ProcessEnv) => Promise<ScriptEnd>;

export interface ScriptEnd {
  readonly output: string;
  /** Exit code or signal of a failure. */
  readonly problem?: string | number | undefined;
}

/** Pages set their commands apart by blank lines. */
const withoutBlankLines = (text: string): string => text.replaceAll(/^\s*\n/gm, "").trimEnd();

const marker = (line: number): string => `echo '::block ${line}'`;

function transcript({ text }: Block): { readonly commands: string[]; readonly output: string } {
  const lines = text.trimEnd().split("\n");
  const commands = lines.filter((line) => line.startsWith("$ ")).map((line) => `${line.slice(2)} || true`);
  const output = lines.filter((line) => !line.startsWith("$ ")).join("\n");
  return { commands, output: `${output}\n` };
}

const bash: RunScript = (script, cwd, env) =>
  new Promise((resolve) => {
    const options = { cwd, env, maxBuffer: 2 ** 26, timeout: 280_000, killSignal: "SIGKILL" as const };
    execFile("bash", ["-c", `exec 2>&1\n${script}`], options, (error, output) => {
      resolve({
        output,
        problem: error === null ? undefined : (error.code ?? error.signal ?? error.message),
      });
    });
  });
