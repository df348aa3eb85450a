/** Running programs as somebody does who has no clone: in a folder of one's own, with a Node of one's own. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

export interface Place {
  readonly folder: string;
  /** Path of the Node that is `node` there. */
  readonly node: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** The standard output of a program that must succeed. */
export function run(place: Place, program: string, ...args: string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = { cwd: place.folder, env: environment(place), maxBuffer: 2 ** 26 };
  execFile(program, args, options, (error, stdout, stderr) => {
    if (error) reject(new Error(`${program} ${args.join(" ")}:\n${stderr}${stdout}`, { cause: error }));
    else resolve(stdout);
  });
  return promise;
}

/** Without what those have put there that run the tests: npm, and Dray's own start of Node. */
export function environment({ node, env }: Place): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) =>
      !/^npm_(?:config|package|lifecycle)_|^NODE_(?:COMPILE_CACHE|OPTIONS|TEST_CONTEXT)$/.test(name),
  );
  const path = [dirname(node), ...otherFolders()].join(delimiter);
  return { ...Object.fromEntries(own), PATH: path, ...env };
}

const otherFolders = (): string[] =>
  (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));

const oldVersion = "20.20.2";

/** The path of a Node 20: the one on the PATH, else one from npm, in a folder. */
export async function node20(folder: string): Promise<string> {
  for (const each of otherFolders()) {
    const node = join(each, "node");
    if (!existsSync(node)) continue;
    const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
    if (stdout.startsWith("v20.")) return node;
    break;
  }
  const name = `node-${process.platform}-${process.arch}`;
  await run({ folder, node: process.execPath }, "npm", "install", "--no-save", `${name}@${oldVersion}`);
  return join(folder, "node_modules", name, "bin", "node");
}
