/**
 * `@dray/cel` and `@dray/allocator` are for browsers too: they need nothing that Node brings and JavaScript
 * does not.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expected, programs } from "./packages/browser-programs.ts";

type Name = keyof typeof programs;
const names = Object.keys(programs) as Name[];
const bundles = new Map<Name, string>();

before(async () => {
  for (const name of names) {
    const { outputFiles } = await build({
      stdin: { contents: programs[name], resolveDir: join(import.meta.dirname, "..") },
      bundle: true,
      write: false,
      platform: "browser",
      format: "iife",
      conditions: ["dray-source"],
      logLevel: "silent",
    });
    bundles.set(name, outputFiles[0]!.text);
  }
});

describe("in JavaScript without Node", () => {
  for (const strings of [true, false]) {
    for (const name of names) {
      test(`${name}, code from strings ${strings ? "allowed" : "forbidden"}`, () => {
        const context = createContext(
          { TextEncoder, TextDecoder, URL },
          { codeGeneration: { strings, wasm: false } },
        );
        runInContext(bundles.get(name)!, context);
        const answer = JSON.parse(runInContext("JSON.stringify(answer)", context) as string) as unknown;
        assert.deepEqual(answer, { ...expected[name], generates: strings });
      });
    }
  }
});

const chromium = "/usr/bin/chromium";
if (existsSync(chromium)) {
  const policies = { "no policy": "", "a policy against eval": "script-src 'unsafe-inline'" };
  describe("in Chromium", () => {
    for (const [title, policy] of Object.entries(policies)) {
      for (const name of names) {
        test(`${name}, ${title}`, () => {
          const answer = inChromium(bundles.get(name)!, policy);
          assert.deepEqual(answer, { ...expected[name], generates: policy === "" });
        });
      }
    }
  });
}

/** Runs the program on a page of its own. Returns its answer. */
function inChromium(program: string, policy: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "dray-chromium-"));
  try {
    const page = join(folder, "page.html");
    const meta = policy === "" ? "" : `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
    const script = program.replaceAll("</script", "<\\/script");
    const show = "document.body.textContent = encodeURIComponent(JSON.stringify(answer));";
    writeFileSync(
      page,
      `<!doctype html><meta charset="utf-8">${meta}<body><script>${script}${show}</script></body>`,
    );
    const options = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      `--user-data-dir=${join(folder, "user")}`,
    ];
    const dom = execFileSync(chromium, [...options, "--dump-dom", `file://${page}`], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 60_000,
    });
    const body = /<body>(.*?)<\/body>/s.exec(dom)?.[1] ?? "";
    assert.match(body, /^%7B/, `the page shows no answer: ${body.slice(0, 300)}`);
    return JSON.parse(decodeURIComponent(body));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
