import { spawn } from "node:child_process";
import { find } from "../host/isolation.ts";

/** A program of the machine has failed or is missing. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode: number | undefined) {
    super(message);
    this.exitCode = exitCode;
  }
}

export interface ToolOptions {
  readonly cwd?: string;
  readonly input?: AsyncIterable<Uint8Array> | string;
}

/** Debian's packages of programs that not every system has, for messages. */
const packages: Readonly<Record<string, string>> = {
  runc: "runc",
  ip: "iproute2",
  iptables: "iptables",
  "iptables-restore": "iptables",
  script: "bsdutils",
};

/** Path of a program. Throws a ToolError with its package. */
export function tool(name: string): string {
  const path = find(name);
  if (path !== undefined) return path;
  const from = packages[name] ?? "util-linux";
  throw new ToolError(`the program ${name} is not installed (package ${from} of Debian)`, undefined);
}

const maxOutput = 1 << 20;

/** Runs a program of the machine. Resolves with its output; rejects with its error output. */
export async function runTool(
  name: string,
  args: readonly string[],
  { cwd = "/", input }: ToolOptions = {},
): Promise<string> {
  const child = spawn(tool(name), args, { cwd, stdio: ["pipe", "pipe", "pipe"] });
  const outputs = ["", ""];
  for (const [i, stream] of [child.stdout, child.stderr].entries())
    stream.setEncoding("utf8").on("data", (text: string) => {
      if (outputs[i]!.length < maxOutput) outputs[i] += text;
    });
  // A program that stops reading reports why itself.
  child.stdin.on("error", () => {});
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", (error) => reject(new ToolError(`cannot run ${name}: ${error.message}`, undefined)));
    child.once("close", (code, signal) => (signal === null ? resolve(code ?? 1) : resolve(128)));
  });
  if (input === undefined || typeof input === "string") child.stdin.end(input ?? "");
  else
    void (async () => {
      for await (const chunk of input)
        if (!child.stdin.write(chunk)) await new Promise((resolve) => child.stdin.once("drain", resolve));
      child.stdin.end();
    })().catch((error: Error) => child.stdin.destroy(error));
  const code = await ended;
  if (code === 0) return outputs[0]!;
  throw new ToolError(`${name} ${args.join(" ")}: ${outputs[1]!.trim() || `exit code ${code}`}`, code);
}
