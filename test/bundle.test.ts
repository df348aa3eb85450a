/** `@dray/cel` and `@dray/allocator` are for browsers too: they need nothing that Node brings and JavaScript does not. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";

/** What the programs below answer, where code may be generated from strings and where it may not. */
const expected = {
  cel: { matches: true, cost: 20, mistake: "undeclared reference to 'nosuch'", generates: true },
  allocator: { type: "allocated", devices: ["d1"], generates: true },
};

const generates = `const generates = (() => {
  try { return new Function("return true")(); } catch { return false; }
})();`;

const programs = {
  cel: `
    import { deviceEnvironment } from "@dray/cel";
    const environment = deviceEnvironment({ stored: true });
    const selector = environment.compile(
      'device.attributes["gpu.example.com"].model.matches("^a1[0-9]+$") && ' +
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0 && ' +
        'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.2.0"))',
    );
    const device = {
      driver: "gpu.example.com",
      attributes: { model: { string: "a100" }, driverVersion: { version: "1.10.0" } },
      capacity: { memory: { value: "80Gi" } },
    };
    const { matches, cost } = selector.evaluate(device);
    const mistake = /undeclared reference to '\\w+'/.exec(environment.compile("nosuch").error)[0];
    ${generates}
    globalThis.answer = { matches, cost, mistake, generates };`,
  allocator: `
    import { createAllocator } from "@dray/allocator";
    const features = { adminAccess: true, prioritizedList: true, partitionableDevices: true, deviceTaints: true };
    const allocator = createAllocator({ features, newId: () => "00000000-0000-4000-8000-000000000000" });
    const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
    const device = (name, model) => ({ name, attributes: { model: { string: model } } });
    const slice = {
      metadata: { name: "s" },
      spec: { driver: "d.example.com", pool, nodeName: "n", devices: [device("d0", "a"), device("d1", "b")] },
    };
    const selectors = [{ cel: { expression: 'device.attributes["d.example.com"].model == "b"' } }];
    const exactly = { deviceClassName: "c", selectors, allocationMode: "ExactCount", count: 1 };
    const claim = {
      metadata: { name: "claim", namespace: "default", uid: "u" },
      spec: { devices: { requests: [{ name: "r", exactly }] } },
    };
    allocator.update({ kind: "class", object: { metadata: { name: "c" }, spec: {} }, deleted: false });
    allocator.update({ kind: "slice", object: slice, deleted: false });
    const result = allocator.allocate({ metadata: { name: "n", labels: {} } }, [claim]);
    const devices = result.allocations.flatMap(({ devices }) => devices.results.map(({ device }) => device));
    ${generates}
    globalThis.answer = { type: result.type, devices, generates };`,
};
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

/** What the program answers on a page of its own. */
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
